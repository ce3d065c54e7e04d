"""The table of stored transitions: replay's by the settings, a method's own as it says."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from recall.methods import METHODS, Method, register_method
from recall.report.tables.computation import UNKNOWN
from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of, tables_of
from tests.plugins.restored import plugins_forgotten

OLD = "of old tasks"


@dataclass(frozen=True)
class Counting(Method):
    """A method that keeps 50 transitions of each old task in its own state."""

    name: ClassVar[str] = "counting"

    def old_transitions(self, tasks, replayed):
        return super().old_transitions(tasks, replayed) + (tasks - 1) * 50


@dataclass(frozen=True)
class Wordy(Method):
    name: ClassVar[str] = "wordy"

    def old_transitions(self, tasks, replayed):
        return "observations of the last episode"


@pytest.fixture(autouse=True)
def registered():
    with plugins_forgotten():
        for method in (Counting, Wordy):
            register_method(method)
        yield


@pytest.mark.parametrize(
    ("method", "changes", "text"),
    [
        ("counting", {}, "100 (N = 3)"),
        ("counting", {"memory_per_task": 200}, "500 (N = 3)"),
        ("wordy", {}, "observations of the last episode"),
        ("fine_tuning", {}, "\N{EN DASH}"),
        ("clonex", {"memory_per_task": 200}, "400 (N = 3)"),
    ],
)
def test_a_method_says_what_it_stores(tmp_path, method, changes, text):
    write_fleet(tmp_path, method, "cw3-1", seeds=(0,), **changes)
    table = tables_of(tmp_path)["storage"]
    assert cell_of(table, table.rows[0].heading, OLD).text == text
    assert len(table.notes) == 1


@pytest.mark.parametrize(("memory", "text"), [(0, UNKNOWN), (200, "400 (N = 3)")])
def test_of_a_method_that_is_not_loaded_only_replay_is_known(tmp_path, memory, text):
    write_fleet(tmp_path, "counting", "cw3-1", seeds=(0,), memory_per_task=memory)
    del METHODS["counting"]
    table = tables_of(tmp_path)["storage"]
    assert cell_of(table, table.rows[0].heading, OLD).text == text
    assert ("what it stores" in " ".join(table.notes)) == (text == UNKNOWN)
