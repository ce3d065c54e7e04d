"""The table of computation says what each method adds, also one that the package does not know."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

import recall
from recall.analysis.collection import gather
from recall.methods import METHODS, Method, register_method
from recall.report.tables.computation import UNKNOWN, UNNAMED, added_losses, other_work
from tests.factories.folders import write_fleet
from tests.factories.tables import cell_of, tables_of
from tests.plugins.restored import EXAMPLES, plugins_forgotten

LOSSES, WORK = "added to the losses", "other computation"
AVERAGE = "average of the actor"  # of every method


@pytest.fixture
def decayed(tmp_path):
    """A fleet of a plug-in, beside one of ours that adds nothing; the plug-in is forgotten."""
    with plugins_forgotten():
        recall.load_plugin(EXAMPLES / "weight_decay.py")
        write_fleet(tmp_path / "a", "weight_decay", "cw3-1", seeds=(0,), decay=0.5)
    write_fleet(tmp_path / "b", "fine_tuning", "cw3-1", seeds=(0,))
    return tmp_path


def test_a_plugin_names_what_it_adds(decayed):
    with plugins_forgotten():
        recall.load_plugin(EXAMPLES / "weight_decay.py")
        table = tables_of(decayed)["computation"]
    (heading,) = [row.heading for row in table.rows if row.heading.startswith("Decay")]
    assert cell_of(table, heading, LOSSES).text == "weight decay (λ 0.5)"
    assert cell_of(table, heading, WORK).text == AVERAGE
    assert len(table.notes) == 1


def test_of_a_plugin_that_is_not_loaded_nothing_is_claimed(decayed):
    table = tables_of(decayed)["computation"]
    assert cell_of(table, "weight_decay", LOSSES).text == UNKNOWN
    assert cell_of(table, "weight_decay", WORK).text == f"{AVERAGE}, {UNKNOWN}"
    assert any("weight_decay" in note and "--plugin" in note for note in table.notes)
    assert cell_of(table, "Fine-tuning", LOSSES).text == "\N{EN DASH}"


def test_what_every_method_may_do_is_told_of_unknown_ones_too(tmp_path):
    with plugins_forgotten():
        recall.load_plugin(EXAMPLES / "weight_decay.py")
        changes = {"best_return": True, "retraining_updates": 2000}
        write_fleet(tmp_path, "weight_decay", seeds=(0,), **changes)
    (run,) = gather(tmp_path).runs
    retraining = "2,000 updates of retraining after each task but the last"
    assert other_work(run) == [AVERAGE, UNKNOWN, retraining]


def test_settings_that_the_method_no_longer_has_leave_it_unknown(tmp_path):
    """As where a plug-in of the same name has changed since the run was trained."""

    @dataclass(frozen=True)
    class Other(Method):
        name: ClassVar[str] = "weight_decay"

    with plugins_forgotten():
        recall.load_plugin(EXAMPLES / "weight_decay.py")
        write_fleet(tmp_path, "weight_decay", seeds=(0,))
        register_method(Other)
        (run,) = gather(tmp_path).runs
        assert added_losses(run) == [UNKNOWN]


def test_a_loss_without_a_name_is_not_hidden(tmp_path):
    @dataclass(frozen=True)
    class Silent(Method):
        name: ClassVar[str] = "silent"

        def critic_loss(self, agent, method_state, critic, forward):
            return 1.0, {}

    with plugins_forgotten():
        register_method(Silent)
        write_fleet(tmp_path, "silent", seeds=(0,))
        (run,) = gather(tmp_path).runs
        assert added_losses(run) == [UNNAMED]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_ours_names_its_losses(tmp_path, name):
    write_fleet(tmp_path, name, seeds=(0,))
    (run,) = gather(tmp_path).runs
    assert not {UNKNOWN, UNNAMED} & {*added_losses(run), *other_work(run)}


def test_the_words_for_our_methods(tmp_path):
    """All terms and all work, with weights that leave none of them out."""
    importance = "importance of every weight after each task"
    cloning = ["behavioural cloning (λ 2)", "the same of the critics (λ 3)"]
    weights = {"weight": 2.0, "critic_weight": 3.0}
    for name, settings, losses, work in (
        ("ewc", weights, ["weight consolidation (λ 2)", cloning[1]], [AVERAGE, importance]),
        ("l2", weights, ["L2 penalty (λ 2)", cloning[1]], [AVERAGE]),
        ("mas", weights, ["synapse penalty (λ 2)", cloning[1]], [AVERAGE, importance]),
        ("clonex", weights, cloning, [AVERAGE]),
        ("clear", weights, cloning, [AVERAGE]),
        ("vcl", {"weight": 2.0}, ["KL to the last posterior (λ 2)"], [AVERAGE]),
        ("vcl", {"weight": 0.0, "average_actor": None}, [], []),
        ("agem", {}, [], [AVERAGE, "projection of gradients"]),
        ("recall", {"distillation_weight": 0.0}, ["old critics' values as targets"],
         ["PopArt updates", AVERAGE]),
    ):  # fmt: skip
        folder = tmp_path / f"{name}-{len(losses)}"
        write_fleet(folder, name, seeds=(0,), **settings)
        (run,) = gather(folder).runs
        assert added_losses(run) == losses, name
        assert other_work(run) == work, name
