"""Figures of runs that failed, were run on other sequences, or do not report success."""

import numpy as np
import pytest

from recall.analysis.collection import gather
from recall.report.figures import Scene
from recall.report.figures.comparisons import MEAN
from recall.report.figures.transfer_areas import OWN
from tests.factories.figures import artists, axes_of, curve, drawn, reason
from tests.factories.folders import write_fleet


@pytest.mark.parametrize("kind", ["average_success", "current_task"])
def test_the_mean_does_not_jump_where_a_run_failed(tmp_path, kind):
    write_fleet(
        tmp_path,
        "recall",
        "cw3-1",
        seeds=range(3),
        success=lambda seed, *_: (0.2, 0.2, 0.8)[seed],
        failed={"recall-cw3-1-seed2": 500_000},
        steps_per_task=1_000_000,
        evaluate_every=20_000,
    )
    steps, values = curve(axes_of(Scene(gather(tmp_path)), kind)[0], "RECALL")
    early = values[steps < 450_000]
    assert len(early) > 5
    np.testing.assert_allclose(early, 0.4)


def test_methods_are_set_side_by_side_over_the_sequences_that_all_have(tmp_path):
    levels = {"cw3-1": 0.9, "cw3-2": 0.1}
    for name, level in levels.items():
        write_fleet(tmp_path / name, "recall", name, success=lambda *_, own=level: own)
    write_fleet(tmp_path / "ewc", "ewc", "cw3-1", success=lambda *_: 0.8)
    figure = drawn(Scene(gather(tmp_path)), "seeds")
    assert "cw3-1" in figure.caption
    means = [float(mean.get_offsets()[0, 0]) for mean in artists(figure.figure.axes[0], MEAN)]
    assert means == pytest.approx([0.8, 0.9])
    apart = Scene(gather([tmp_path / "cw3-2", tmp_path / "ewc"]))
    assert "so they do not compare" in drawn(apart, "seeds").caption


def test_a_task_without_success_has_an_empty_panel(tmp_path):
    write_fleet(tmp_path, "recall", "push,hammer,push", success=lambda *_: 0.0, silent=["hammer"])
    scene = Scene(gather(tmp_path))
    labels = [
        [line.get_label() for line in axes.get_lines()] for axes in axes_of(scene, "task_curves")
    ]
    assert ["RECALL" in each for each in labels] == [True, False, True]
    for kind in ("task_curves", "seeds"):
        assert "hammer" in drawn(scene, kind).caption
    assert reason(scene, "transfer_areas").endswith("has tasks that do not report success")


@pytest.mark.parametrize("kind", ["current_task", "transfer_areas"])
def test_success_right_after_a_switch_is_that_of_the_new_task(tmp_path, kind):
    """Runs that were evaluated at other steps: nothing lies between two tasks."""

    def learns_at_the_end(seed, position, step):
        return float(step >= 1_000 * (position + 1))

    for seed, every in ((0, 100), (1, 250)):
        write_fleet(
            tmp_path / str(seed),
            "recall",
            "push,hammer",
            (seed,),
            learns_at_the_end,
            evaluate_every=every,
        )
    write_fleet(tmp_path / "alone", "fine_tuning", [["push"], ["hammer"]], success=lambda *_: 0.5)
    label = OWN if kind == "transfer_areas" else "RECALL"
    steps, values = curve(axes_of(Scene(gather(tmp_path)), kind)[0], label)
    assert values[steps == 1_000].tolist() == [1.0]
    assert set(values[(steps > 1_000) & (steps <= 1_750)]) == {0.0}
