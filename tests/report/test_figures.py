"""What is drawn is what was measured: properties of the artists, on made-up runs."""

import dataclasses

import numpy as np
import pytest
from matplotlib.colors import to_hex

from recall.analysis import metrics
from recall.analysis.collection import Collection, arranged, gather
from recall.analysis.estimates import estimate
from recall.analysis.frames import select
from recall.analysis.metrics import FORGETTING, PERFORMANCE
from recall.methods import METHODS
from recall.report.figures import Figure, Scene, Skipped, all_figures
from recall.report.figures.comparisons import MEAN, RUNS, matrices
from recall.report.figures.curves import OWN_STAGE
from recall.report.figures.layout import BOUNDARY
from recall.report.figures.transfer_areas import ALONE, GAIN, LOSS, OWN
from tests.factories.figures import (
    artists,
    axes_of,
    curve,
    drawn,
    heat,
    legend,
    reason,
    rows,
    titles,
)
from tests.factories.folders import write_fleet
from tests.factories.runs import made_collection, made_run

METHODS_SHOWN = ("fine_tuning", "perfect_memory", "recall")
PER_TASK = 1_000_000


@pytest.fixture(scope="module")
def scene():
    return Scene(made_collection(METHODS_SHOWN, ["cw3-1", "cw3-2"], seeds=3, records=True))


def runs_of(scene, method, sequence):
    return [r for r in scene.collection.runs if (r.method, r.sequence) == (method, sequence)]


def test_the_average_is_p_of_t_in_the_registrys_colour_and_order(scene):
    figure = drawn(scene, "average_success")
    assert titles(figure.figure.axes) == ["cw3-1", "cw3-2"]
    assert legend(figure.figure) == ["Fine-tuning", "PM", "RECALL"]
    for axes, sequence in zip(figure.figure.axes, ("cw3-1", "cw3-2"), strict=True):
        for method in METHODS_SHOWN:
            runs = runs_of(scene, method, sequence)
            expected = np.mean([metrics.performance_over_time(run.curve()) for run in runs], axis=0)
            label = METHODS[method].label
            steps, values = curve(axes, label)
            np.testing.assert_allclose(values, expected)
            np.testing.assert_array_equal(steps, runs[0].steps)
            line = next(each for each in axes.get_lines() if each.get_label() == label)
            assert to_hex(line.get_color()) == METHODS[method].colour
        boundaries = [float(each.get_xdata()[0]) for each in artists(axes, BOUNDARY)]
        assert boundaries == [PER_TASK, 2 * PER_TASK]
        assert axes.get_xlim() == (0, 3 * PER_TASK)


def test_the_current_tasks_curve_is_broken_at_the_boundaries(scene):
    axes = axes_of(scene, "current_task")[0]
    (line,) = [each for each in axes.get_lines() if each.get_label() == "RECALL"]
    gaps = np.flatnonzero(np.isnan(line.get_xdata()))
    assert line.get_xdata()[gaps - 1].tolist() == [PER_TASK, 2 * PER_TASK, 3 * PER_TASK]
    # The fifth evaluation of the second stage.
    runs, at = runs_of(scene, "recall", "cw3-1"), 10 + 4
    expected = np.mean([run.curves["stochastic", "success"][at, 1] for run in runs])
    steps, values = curve(axes, "RECALL")
    assert (steps[at], values[at]) == (runs[0].steps[at], pytest.approx(expected))


def test_every_task_has_a_panel_with_its_own_stage_shaded(scene):
    axes = axes_of(scene, "task_curves", "task_curves-cw3-2")
    assert titles(axes) == ["1 hammer", "2 window-close", "3 faucet-close"]
    for position, each in enumerate(axes):
        (shade,) = artists(each, OWN_STAGE)
        assert (shade.get_x(), shade.get_width()) == (position * PER_TASK, PER_TASK)
        runs = runs_of(scene, "recall", "cw3-2")
        curves = [run.curves["stochastic", "success"][:, position] for run in runs]
        np.testing.assert_allclose(curve(each, "RECALL")[1], np.mean(curves, axis=0))


def total_area(collections):
    """Of polygons, whichever way round they go."""
    total = 0.0
    for collection in collections:
        for path in collection.get_paths():
            for polygon in path.to_polygons():
                x, y = polygon.T
                total += abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
    return total


def test_gains_and_losses_are_the_areas_between_the_curves():
    flat = made_run("recall", "push,hammer", 0)
    alone = [made_run("fine_tuning", task, 0) for task in flat.tasks]

    def at(run, *levels):
        success = np.repeat(np.array(levels)[None], len(run.steps), axis=0)
        return dataclasses.replace(run, curves=dict.fromkeys(run.curves, success))

    # The first task stays 0.3 above its reference; that of the second rises from below to above.
    rising = alone[1].steps[:, None] / PER_TASK  # 0.1 to 1
    references = (
        at(alone[0], 0.5),
        dataclasses.replace(alone[1], curves=dict.fromkeys(alone[1].curves, rising)),
    )
    scene = Scene(Collection((at(flat, 0.8, 0.55),), reference_runs=references))
    (axes,) = axes_of(scene, "transfer_areas")
    triangle = 0.45**2 / 2 * PER_TASK
    above = 0.3 * 0.9 * PER_TASK  # from the first evaluation to the last
    assert total_area(artists(axes, GAIN)) == pytest.approx(above + triangle)
    assert total_area(artists(axes, LOSS)) == pytest.approx(triangle)
    # 0.3 of the 0.5 that are left to gain, and their mean with nothing.
    assert {text.get_text() for text in axes.texts} == {"+0.60", "0.00"}
    assert "0.30" in axes.get_title(loc="left")


def test_of_a_longer_reference_what_counts_is_drawn(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", success=lambda *_: 1.0)
    write_fleet(
        tmp_path / "b",
        sequence=[["push"], ["hammer"]],
        steps_per_task=4_000,
        success=lambda seed, position, step: step / 4_000,
    )
    (axes,) = axes_of(Scene(gather(tmp_path)), "transfer_areas")
    steps, values = curve(axes, ALONE)
    assert steps.tolist() == [250, 500, 750, 1_000, 1_250, 1_500, 1_750, 2_000]
    assert values[[3, 7]].tolist() == [0.25, 0.25]


def test_transfer_without_references_says_what_to_run(scene):
    lonely = Scene(dataclasses.replace(scene.collection, reference_runs=()))
    found = [s for s in all_figures(lonely, ["transfer_areas"]) if isinstance(s, Skipped)]
    assert "fine_tuning" in found[0].reason
    assert "push, window-close, hammer" in found[0].reason


@pytest.fixture(scope="module")
def pairs():
    sequences = ["pair-0-1", "pair-5-0", "pair-9-9", "pair-3-7", "push,shelf-place"]
    return Scene(made_collection(["perfect_memory", "recall"], sequences, seeds=2, singles=False))


def test_a_matrix_cell_holds_its_pair(pairs):
    first, second, forgotten = matrices(pairs, "RECALL")
    assert np.isfinite(first).sum() == 5
    assert np.isfinite(first[6, 7])  # push, then shelf-place
    curves = [run.curve() for run in runs_of(pairs, "recall", "pair-5-0")]
    final = np.mean([metrics.final_successes(each) for each in curves], axis=0)
    trained = np.mean([metrics.trained_successes(each) for each in curves], axis=0)
    found = [each[5, 0] for each in (first, second, forgotten)]
    assert found == pytest.approx([*final, trained[0] - final[0]])
    figure = drawn(pairs, "pair_matrices", "pair_matrices-recall")
    axes = figure.figure.axes
    # Only tasks of which there are pairs have a row and a column.
    there = np.isfinite(second)
    tasks = np.flatnonzero(there.any(axis=0) | there.any(axis=1)).tolist()
    assert len(tasks) < 10
    for each, matrix in zip(axes, (first, second, forgotten), strict=True):
        np.testing.assert_array_equal(heat(each), matrix[np.ix_(tasks, tasks)])
        assert rows(each) == list(map(str, tasks))
    text = next(t for t in axes[1].texts if t.get_position() == (0, tasks.index(5)))
    assert float(text.get_text()) == pytest.approx(second[5, 0], abs=0.005)
    # Red is bad and blue is good in every matrix.
    success, _, forgetting = (each.get_images()[0] for each in axes)
    bad, good = (success.cmap(success.norm(value)) for value in (0.0, 1.0))
    assert bad[0] > 0.5 > bad[2]
    assert good[2] > 0.5 > good[0]
    assert forgetting.cmap(1.0) == bad


def test_variants_are_drawn_where_there_is_only_one_method():
    runs = [
        made_run(method, "cw3-1", seed, variant=variant)
        for method, variant in [
            ("perfect_memory", ""),
            ("recall", ""),
            ("recall", "no distillation"),
            ("recall", "no normalisation"),
        ]
        for seed in range(2)
    ]
    scene = Scene(Collection(tuple(runs)))
    (methods,) = all_figures(scene, ["average_success"])
    assert legend(methods.figure) == ["PM", "RECALL"]
    # A report of these runs alone shows them.
    alone = Scene(scene.collection.where(lambda run: run.method == "recall"))
    (variants,) = all_figures(alone, ["average_success"])
    assert legend(variants.figure) == ["RECALL", "no distillation", "no normalisation"]
    colours = [line.get_color() for line in variants.figure.legends[0].get_lines()]
    assert colours[0] == METHODS["recall"].colour
    assert len(set(colours)) == 3
    assert rows(axes_of(alone, "seeds")[0]) == legend(variants.figure)
    names = {"RECALL": "Ours", "RECALL, no distillation": "TN alone"}
    renamed = Scene(arranged(alone.collection, names=names))
    expected = ["Ours", "TN alone", "Ours, no normalisation"]
    assert legend(drawn(renamed, "average_success").figure) == expected


def test_training_shows_what_the_records_say_on_scales_that_fit(scene):
    axes = dict(zip(titles(axes_of(scene, "training")), axes_of(scene, "training"), strict=True))
    assert len(axes) == 11  # all but the temperature, which these records lack
    scales = [axes[name].get_yscale() for name in ("policy loss", "Q loss", "critic: weight norm")]
    assert scales == ["symlog", "log", "linear"]
    run = runs_of(scene, "recall", "cw3-1")[0]
    there = np.isfinite(run.training["dormant_q"])
    steps, _ = curve(axes["critic: dormant units"], "RECALL")
    np.testing.assert_array_equal(steps, run.training["step"][there])
    # Q is that of the task in training: 1,000 of the first one and 10 of the second.
    steps, values = curve(axes["mean Q"], "PM")
    for stage, size in (
        (steps <= PER_TASK, 1e3),
        ((steps > PER_TASK) & (steps <= 2 * PER_TASK), 10),
    ):
        assert np.median(values[stage]) == pytest.approx(size, rel=0.3)
    own = axes_of(scene, "q_scale")[0]
    starts = [curve(own, task)[0][0] for task in ("1 push", "2 window-close", "3 hammer")]
    assert starts == sorted(starts)
    assert starts[2] > 2 * PER_TASK


def test_every_run_is_a_dot_beside_the_mean(scene):
    performance, forgetting = axes_of(scene, "seeds")[:2]
    labels = rows(performance)
    assert labels == ["Fine-tuning", "PM", "RECALL"]
    for axes, metric in ((performance, PERFORMANCE), (forgetting, FORGETTING)):
        for place, label in enumerate(labels):
            expected = estimate(select(scene.analysis.scores, label=label), metric).value
            dots = artists(axes, RUNS)[place].get_offsets()
            assert len(dots) == 6
            assert dots[:, 0].mean() == pytest.approx(expected)
            assert artists(axes, MEAN)[place].get_offsets()[0, 0] == pytest.approx(expected)


def test_unfinished_runs_and_missing_numbers_are_drawn_as_far_as_they_go():
    half = made_run("recall", "cw3-1", 0, until=PER_TASK + 500_000, records=True)
    other = made_run("recall", "cw3-1", 1)
    success = other.curves["stochastic", "success"].copy()
    success[3] = np.nan
    blank = {**other.curves, ("stochastic", "success"): success}
    other = dataclasses.replace(other, curves=blank)
    vars(other)["training"] = {}
    scene = Scene(Collection((half, other)))
    kinds = {found.kind for found in all_figures(scene) if isinstance(found, Figure)}
    assert kinds >= {"average_success", "training"}
    steps, values = curve(axes_of(scene, "average_success")[0], "RECALL")
    assert len(steps) == 30
    assert np.isfinite(values).all()


def test_what_learns_all_tasks_at_once_has_no_current_task(scene):
    together = made_run("multi_task", "cw3-1", 0, records=True)
    everyone = Scene(Collection((*scene.collection.runs, together)))
    for kind, there in (("average_success", True), ("current_task", False)):
        assert ("Multi-task" in legend(drawn(everyone, kind).figure)) == there
    performance, forgetting, *_ = axes_of(everyone, "seeds")
    assert (len(artists(performance, MEAN)), len(artists(forgetting, MEAN))) == (4, 3)
    axes = axes_of(everyone, "training")
    for title, there in (("mean Q", False), ("Q loss", True)):
        lines = axes[titles(axes).index(title)].get_lines()
        assert ("Multi-task" in [line.get_label() for line in lines]) == there


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
