"""What recall.train returns."""

import pytest

import recall
from recall.errors import BadValueError
from recall.training.callbacks import Callback
from recall.worlds.simulator import DrawingError
from tests.factories.environments import Point
from tests.factories.fleets import CHANGES, CrashAt, CrashError, run, small_spec, start
from tests.factories.folders import write_fleet

EVALUATION = (
    '{"run": %d, "step": 1, "position": 0, "task": "push", "mode": "stochastic", "success": %s}'
)


def test_results_show_how_it_went_and_make_frames_figures_films_and_reports(finished, tmp_path):
    results = recall.load_results(finished)
    last = results.frame().query("step == 600 and mode == 'stochastic'")
    means = last.groupby("position").success.mean()
    assert len(results.frame("runs")) == len(results.runs) == 2
    shown = repr(results)
    assert shown.count("\n") == 1
    for position, task in enumerate(("point-rich", "point-poor")):
        assert f"{task} {100 * means[position]:.0f}%" in shown
        assert task in results._repr_html_()
    performance = results.metrics()["average_performance"]
    assert performance.mean() == pytest.approx(last.success.mean())
    assert results.plot()._repr_png_().startswith(b"\x89PNG")
    assert [axes.get_title("left") for axes in results.plot().axes] == [
        "1 point-rich",
        "2 point-poor",
    ]
    assert results.film(tmp_path / "film.png", size=(32, 32)).path.exists()
    assert (results.report(tmp_path / "report", figures=False).folder / "index.html").exists()
    with pytest.raises(BadValueError, match="pair_matrices"):
        results.plot("pair_matrices")


def test_records_that_cannot_be_used_are_not_shown(tmp_path):
    folder = write_fleet(tmp_path / "run")
    shown = repr(recall.load_results(folder))
    with (folder / "evaluations.jsonl").open("a") as file:
        for line in ('{"a": 1}', EVALUATION % (99, "0.5"), EVALUATION % (0, '"x"')):
            file.write(line + "\n")
    results = recall.load_results(folder)
    assert repr(results) == shown
    assert "push" in results._repr_html_()


def test_results_before_an_evaluation_and_of_a_function_that_is_a_task(tmp_path):
    with pytest.raises(CrashError):
        run(start(small_spec(), tmp_path / "stopped", CrashAt(2)))
    unfinished = recall.load_results(tmp_path / "stopped")
    assert "unfinished" in repr(unfinished)
    assert unfinished.metrics().empty
    with pytest.raises(BadValueError, match="no evaluations yet"):
        unfinished.plot()
    results = recall.train(
        "fine_tuning",
        Point,
        out=tmp_path / "own",
        callback=Callback(),
        horizon_steps=20,
        **CHANGES | {"steps_per_task": 200, "evaluate_every": 100, "update_after": 500},
    )
    assert "Point" in repr(results)
    assert len(results.plot().axes) == 1
    with pytest.raises(DrawingError, match="Point made an environment with render_mode None"):
        results.film()  # it need not be given the function again
