"""Two folders that were trained with different code of plug-ins are compared, and say so."""

import json

import pytest

import recall
from recall.report.compare import compare
from recall.report.tables.table import MISSING
from tests.factories.folders import write_fleet
from tests.plugins.restored import EXAMPLES, plugins_forgotten

A, B = {"source": "aaa"}, {"source": "bbb"}
V1, V2 = {"version": "1.0"}, {"version": "1.1"}


def compared(folder, first, second, method="recall"):
    """Compare fleets of the seeds 0, 1, ... with these sources of plug-ins."""
    for side, sources in (("first", first), ("second", second)):
        for seed, known in enumerate(sources):
            path = write_fleet(folder / side / f"{seed}", method, seeds=(seed,)) / "run.json"
            recorded = {} if known is None else {"plugin_sources": known}
            path.write_text(json.dumps(json.loads(path.read_text()) | recorded))
    return compare(folder / "first", folder / "second", folder / "out", figures=False)


def differences_between(folder, first, second):
    """Return the table of settings of such a comparison."""
    made = compared(folder, first, second)
    return {row.heading: [cell.text for cell in row.cells] for row in made.tables[0].rows}


@pytest.mark.parametrize(
    ("first", "second", "cells"),
    [
        ([A], [B], ["source aaa", "source bbb"]),
        ([A], [A, B], ["source aaa", "source aaa, source bbb"]),
        ([A | V1], [A | V2], ["1.0 source aaa", "1.1 source aaa"]),
        ([None, A], [{}], ["source aaa", MISSING]),
    ],
)
def test_code_of_plugins_that_differs_is_a_row(tmp_path, first, second, cells):
    first, second = ([each and {"own": each} for each in side] for side in (first, second))
    found = differences_between(tmp_path, first, second)
    assert found == {"recall: plug-in own": cells}


@pytest.mark.parametrize("second", [A, A | V1, None])
def test_code_that_is_the_same_or_not_known_is_none(tmp_path, second):
    second = second and {"own": second}
    assert list(differences_between(tmp_path, [{"own": A}], [second])) == ["none"]


@pytest.mark.parametrize(
    ("first", "second", "titles", "codes"),
    [
        # Labels name the code in a folder in which it differs. No mean is taken over two codes.
        ("a", "ab", ["{} and {}, own source a", "{} and {}, own source b"], [["a", "b"]]),
        ("ab", "ab", ["{}, own source a", "{}, own source b"], []),
        ("ab", "bc", ["{}, own source b"], []),
        ("ab", "c", ["{}, own source a and {}", "{}, own source b and {}"], ["ac", "bc"]),
    ],
)
def test_runs_of_a_plugins_method_are_compared_code_by_code(tmp_path, first, second, titles, codes):
    with plugins_forgotten():
        recall.load_plugin(EXAMPLES / "weight_decay.py")
        first, second = ([{"own": {"source": each}} for each in side] for side in (first, second))
        settings, *metrics = compared(tmp_path, first, second, "weight_decay").tables
    told = [[cell.text for cell in row.cells] for row in settings.rows if row.heading != "none"]
    assert told == [[f"source {each}" for each in pair] for pair in codes]
    assert [each.title for each in metrics] == [
        f"{title.replace('{}', 'Decay')} on push,hammer" for title in titles
    ]
    cells = [cell for table in metrics for row in table.rows for cell in row.cells[:2]]
    assert all(cell.runs == 1 for cell in cells)
