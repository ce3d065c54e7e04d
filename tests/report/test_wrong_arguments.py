"""What reports, comparisons and archives refuse from Python: the argument and its value."""

import pytest

import recall
from recall.analysis.collection import gather
from recall.errors import BadValueError
from recall.report.compare import compare
from tests.factories.folders import write_fleet


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_fleet(tmp_path_factory.mktemp("runs"), "recall", "push,hammer", seeds=(0,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("folders", None),
        ("folders", b"runs"),
        ("out", 5),
        ("reference", 3),
        ("measure", 0),
        ("detailed", -1),
        ("methods", 3),
    ],
)
def test_a_report_names_the_argument_that_it_refuses(runs, tmp_path, name, value):
    given = {"folders": runs, "out": tmp_path / "out", "figures": False} | {name: value}
    with pytest.raises(BadValueError) as refused:
        recall.make_report(**given)
    assert str(refused.value).startswith(f"{name} is {value!r}")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "value"), [("first", None), ("out", None), ("measure", 3)])
def test_a_comparison_names_the_argument_that_it_refuses(runs, tmp_path, name, value):
    given = {"first": runs, "second": runs, "out": tmp_path / "out"} | {name: value}
    with pytest.raises(BadValueError, match=f"{name} is {value}"):
        compare(**given)


def test_one_reference_or_method_is_not_its_letters(runs, tmp_path):
    assert gather(runs, reference=str(runs)).problems == ()
    made = recall.make_report(runs, tmp_path / "out", figures=False, methods="recall")
    assert made.collection.labels == ["RECALL"]
