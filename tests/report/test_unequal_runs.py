"""Figures of runs that failed, were run on other sequences, or do not report success."""

import json

import numpy as np
import pytest

from recall.report.figures import Figure, Scene, Skipped, all_figures
from recall.results.collection import gather
from tests.factories.folders import write_fleet


def drawn_as(scene, kind) -> Figure:
    return next(each for each in all_figures(scene, [kind]) if isinstance(each, Figure))


def why_not(scene, kind) -> str:
    (found,) = all_figures(scene, [kind])
    assert isinstance(found, Skipped)
    return found.reason


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
    (series,) = drawn_as(Scene(gather(tmp_path)), kind).panels[0].series
    drawn = np.array(series.y)[np.array(series.x) < 450_000]
    assert len(drawn) > 5
    np.testing.assert_allclose(drawn, 0.4)


@pytest.mark.parametrize("kind", ["seeds", "profiles"])
def test_methods_are_set_side_by_side_over_the_sequences_that_all_have(tmp_path, kind):
    levels = {"cw3-1": 0.9, "cw3-2": 0.1}
    for name, level in levels.items():
        write_fleet(tmp_path / name, "recall", name, success=lambda *_, own=level: own)
    write_fleet(tmp_path / "ewc", "ewc", "cw3-1", success=lambda *_: 0.8)
    figure = drawn_as(Scene(gather(tmp_path)), kind)
    assert "Means are over the sequences that every method has: cw3-1." in figure.caption
    found = {series.label: series for series in figure.panels[0].series}
    if kind == "seeds":
        assert {label: each.x[0] for label, each in found.items()} == pytest.approx(
            {"RECALL": 0.9, "EWC": 0.8}
        )
    else:
        assert [found[label].y[85] for label in ("RECALL", "EWC")] == [1.0, 0.0]


def test_methods_without_a_sequence_in_common_are_said_not_to_compare(tmp_path):
    write_fleet(tmp_path / "a", "recall", "cw3-1")
    write_fleet(tmp_path / "b", "ewc", "cw3-2")
    assert "so they do not compare" in drawn_as(Scene(gather(tmp_path)), "seeds").caption


def test_a_task_without_success_has_an_empty_panel(tmp_path):
    write_fleet(tmp_path, "recall", "push,hammer,push", success=lambda *_: 0.0)
    described = tmp_path / "run.json"
    content = json.loads(described.read_text())
    described.write_text(json.dumps(content | {"without_success": ["hammer"]}))
    scene = Scene(gather(tmp_path))
    figure = drawn_as(scene, "task_curves")
    assert [len(panel.series) for panel in figure.panels] == [1, 0, 1]
    for kind in ("task_curves", "seeds", "profiles"):
        assert "hammer" in drawn_as(scene, kind).caption
    assert why_not(scene, "transfer_areas").endswith("has tasks that do not report success")
