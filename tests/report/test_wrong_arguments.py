"""What reports, comparisons and archives refuse from Python: one sentence for every wrong type."""

import pytest

import recall
from recall.analysis.collection import gather
from recall.analysis.measures import Measure
from recall.errors import BadValueError
from recall.report.compare import compare
from recall.report.figures.style import Look
from tests.factories.folders import write_fleet

NO_FOLDER = "expected a folder, as a text or a Path"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_fleet(tmp_path_factory.mktemp("runs"), "recall", "push,hammer", seeds=(0,))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"folders": None}, f"folders is None: {NO_FOLDER}"),
        ({"folders": ["x", 3]}, f"folders is 3: {NO_FOLDER}"),
        ({"folders": b"runs"}, f"folders is b'runs': {NO_FOLDER}"),
        ({"out": 5}, f"out is 5: {NO_FOLDER}"),
        ({"reference": 3}, f"reference is 3: {NO_FOLDER}"),
        ({"look": 3}, "look is 3: expected a Look"),
        ({"measure": 3}, "measure is 3: expected a Measure"),
        ({"measure": 0}, "measure is 0: expected a Measure"),
        ({"detailed": -1}, "detailed is -1; expected a whole number of at least 0"),
        ({"detailed": "all"}, "detailed is 'all'; expected a whole number"),
        ({"methods": 3}, "methods is 3; expected a text"),
        ({"methods": ["recall", ["ewc"]]}, r"methods is \['ewc'\]; expected a text"),
        ({"names": "RECALL=Ours"}, "names is 'RECALL=Ours': expected a dict of labels"),
        ({"names": {"RECALL": 3}}, "the new name of 'RECALL' is 3; expected a text"),
    ],
)
def test_a_report_names_the_argument_that_it_refuses(runs, tmp_path, arguments, told):
    given = {"folders": runs, "out": tmp_path / "out", "figures": False} | arguments
    with pytest.raises(BadValueError, match=told):
        recall.make_report(**given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"first": None}, f"first is None: {NO_FOLDER}"),
        ({"second": None}, f"second is None: {NO_FOLDER}"),
        ({"out": None}, f"out is None: {NO_FOLDER}"),
        ({"reference": [3]}, f"reference is 3: {NO_FOLDER}"),
        ({"measure": 3}, "measure is 3: expected a Measure"),
    ],
)
def test_a_comparison_names_the_argument_that_it_refuses(runs, tmp_path, arguments, told):
    given = {"first": runs, "second": runs, "out": tmp_path / "out"} | arguments
    with pytest.raises(BadValueError, match=told):
        compare(**given)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"source": None}, f"source is None: {NO_FOLDER}"),
        ({"out": None}, f"out is None: {NO_FOLDER}"),
        ({"policies": [0]}, "policies is 0; expected a text"),
        ({"policies": None}, "policies is None; expected a text"),
    ],
)
def test_an_archive_names_the_argument_that_it_refuses(runs, tmp_path, arguments, told):
    with pytest.raises(BadValueError, match=told):
        recall.archive(**({"source": runs, "out": tmp_path / "out"} | arguments))
    assert not (tmp_path / "out").exists()


def test_what_reads_runs_refuses_what_is_no_folder(runs):
    with pytest.raises(BadValueError, match=f"folders is None: {NO_FOLDER}"):
        gather(None)
    with pytest.raises(BadValueError, match=f"reference is 3: {NO_FOLDER}"):
        gather(runs, [3])
    pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(BadValueError, match=f"folders is None: {NO_FOLDER}"):
        recall.frame(None)


def test_one_reference_is_a_folder_and_not_its_letters(runs):
    assert gather(runs, reference=str(runs)).problems == ()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Measure(window="x"), "window is 'x'; expected a whole number"),
        (lambda: Measure(mode=3), "mode is 3; expected a text"),
        (lambda: Look(font=3), "font is 3; expected a text"),
        (lambda: Look(font_size="large"), "font_size is 'large'; expected a number"),
    ],
)
def test_looks_and_measures_check_their_types(make, told):
    with pytest.raises(BadValueError, match=told):
        make()


def test_one_method_is_chosen_by_its_name(runs, tmp_path):
    made = recall.make_report(runs, tmp_path / "out", figures=False, methods="recall")
    assert made.collection.chosen == ("recall",)
    assert made.collection.labels == ["RECALL"]
