"""What is drawn is what was measured: properties of the artists, on made-up runs."""

import dataclasses

import numpy as np
import pytest
from matplotlib.colors import to_hex

from recall.analysis import metrics
from recall.analysis.arrange import arranged
from recall.analysis.collection import Collection, gather
from recall.analysis.measures import FORGETTING, PERFORMANCE
from recall.methods import METHODS
from recall.report.figures import Figure, Scene, Skipped, all_figures
from recall.report.figures.layout import BOUNDARY
from recall.report.figures.pair_matrices import matrices
from recall.report.figures.seeds import MEAN, RUNS
from recall.report.figures.task_curves import OWN_STAGE
from recall.report.figures.transfer_areas import GAIN, LOSS
from tests.factories.folders import write_fleet
from tests.factories.runs import made_collection, made_run

METHODS_SHOWN = ("fine_tuning", "perfect_memory", "recall")
PER_TASK = 1_000_000


@pytest.fixture(scope="module")
def scene():
    return Scene(made_collection(METHODS_SHOWN, ["cw3-1", "cw3-2"], seeds=3, records=True))


def one(scene, kind, name=None) -> Figure:
    found = [s for s in all_figures(scene, [kind]) if isinstance(s, Figure)]
    return next(s for s in found if name is None or s.name == name)


def reason(scene, kind) -> str:
    (found,) = all_figures(scene, [kind])
    assert isinstance(found, Skipped)
    return found.reason


def line(axes, label):
    (found,) = [each for each in axes.get_lines() if each.get_label() == label]
    return found


def marked(axes, gid):
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def runs_of(scene, method, sequence):
    return [r for r in scene.collection.runs if (r.method, r.sequence) == (method, sequence)]


def test_the_average_is_p_of_t_in_the_registrys_colour(scene):
    figure = one(scene, "average_success")
    assert [panel.title for panel in figure.panels] == ["cw3-1", "cw3-2"]
    for axes, sequence in zip(figure.figure.axes, ("cw3-1", "cw3-2"), strict=True):
        for method in METHODS_SHOWN:
            runs = runs_of(scene, method, sequence)
            expected = np.mean([metrics.performance_over_time(run.curve()) for run in runs], axis=0)
            drawn = line(axes, METHODS[method].label)
            np.testing.assert_allclose(drawn.get_ydata(), expected)
            np.testing.assert_array_equal(drawn.get_xdata(), runs[0].steps)
            assert to_hex(drawn.get_color()) == METHODS[method].colour
        boundaries = [float(each.get_xdata()[0]) for each in marked(axes, BOUNDARY)]
        assert boundaries == [PER_TASK, 2 * PER_TASK]
        assert axes.get_xlim() == (0, 3 * PER_TASK)


def test_labels_come_in_the_registrys_order(scene):
    shuffled = Collection(tuple(sorted(scene.collection.runs, key=lambda run: run.label)))
    kept = one(scene, "average_success").panels[0].series
    assert [each.label for each in kept] == ["Fine-tuning", "PM", "RECALL"]
    # The order is the collection's, which `gather` takes from the registry: it is not changed.
    drawn = one(Scene(shuffled), "average_success").panels[0].series
    assert [each.label for each in drawn] == sorted(each.label for each in kept)


def test_the_current_tasks_curve_is_broken_at_the_boundaries(scene):
    axes = one(scene, "current_task").figure.axes[0]
    drawn = line(axes, "RECALL")
    gaps = np.flatnonzero(np.isnan(drawn.get_xdata()))
    before = drawn.get_xdata()[gaps - 1]
    assert before.tolist() == [PER_TASK, 2 * PER_TASK, 3 * PER_TASK]
    runs = runs_of(scene, "recall", "cw3-1")
    # The fifth evaluation of the second stage, behind one gap.
    at = 10 + 4
    expected = np.mean([run.curves["stochastic", "success"][at, 1] for run in runs])
    assert drawn.get_xdata()[at + 1] == runs[0].steps[at]
    assert drawn.get_ydata()[at + 1] == pytest.approx(expected)


def test_every_task_has_a_panel_with_its_own_stage_shaded(scene):
    figure = one(scene, "task_curves", "task_curves-cw3-2")
    tasks = ["1 hammer", "2 window-close", "3 faucet-close"]
    assert [axes.get_title(loc="left") for axes in figure.figure.axes] == tasks
    for position, axes in enumerate(figure.figure.axes):
        (shade,) = marked(axes, OWN_STAGE)
        assert shade.get_x() == position * PER_TASK
        assert shade.get_width() == PER_TASK
        curves = [
            run.curves["stochastic", "success"][:, position]
            for run in runs_of(scene, "recall", "cw3-2")
        ]
        np.testing.assert_allclose(line(axes, "RECALL").get_ydata(), np.mean(curves, axis=0))


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
    (axes,) = one(scene, "transfer_areas").figure.axes
    triangle = 0.45**2 / 2 * PER_TASK
    above = 0.3 * 0.9 * PER_TASK  # from the first evaluation to the last
    assert total_area(marked(axes, GAIN)) == pytest.approx(above + triangle)
    assert total_area(marked(axes, LOSS)) == pytest.approx(triangle)
    said = [text.get_text() for text in axes.texts]
    assert "+0.60" in said  # 0.3 of the 0.5 that are left to gain
    assert "0.00" in said
    assert any(text.startswith("forward transfer 0.30") for text in said)


def test_of_a_longer_reference_the_pointer_shows_what_counts(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", sequence=["push", "hammer"], steps_per_task=4_000)
    (panel,) = one(Scene(gather(tmp_path)), "transfer_areas").panels
    _, alone = panel.series
    assert alone.label == "learnt alone"
    assert alone.x == [250, 500, 750, 1_000, 1_250, 1_500, 1_750, 2_000]


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
    final = np.mean([metrics.final_successes(curve) for curve in curves], axis=0)
    trained = np.mean([metrics.trained_successes(curve) for curve in curves], axis=0)
    assert first[5, 0] == pytest.approx(final[0])
    assert second[5, 0] == pytest.approx(final[1])
    assert forgotten[5, 0] == pytest.approx(trained[0] - final[0])

    figure = one(pairs, "pair_matrices", "pair_matrices-recall")
    images = [axes.get_images()[0] for axes in figure.figure.axes]
    # Only tasks of which there are pairs have a row and a column.
    there = np.isfinite(second)
    tasks = np.flatnonzero(there.any(axis=0) | there.any(axis=1)).tolist()
    assert len(tasks) < 10
    shown = images[1].get_array().filled(np.nan)
    np.testing.assert_array_equal(shown, second[np.ix_(tasks, tasks)])
    rows = [label.get_text() for label in figure.figure.axes[1].get_yticklabels()]
    assert rows == list(map(str, tasks))
    bad, good = (images[0].cmap(images[0].norm(value)) for value in (0.0, 1.0))
    assert bad[0] > 0.5 > bad[2]  # red
    assert good[2] > 0.5 > good[0]
    # Forgetting has the colours reversed: much of it is as red as no success.
    worst = images[2].cmap(images[2].norm(images[2].get_clim()[1]))
    assert worst == bad
    text = next(t for t in figure.figure.axes[1].texts if t.get_position() == (0, tasks.index(5)))
    assert float(text.get_text()) == pytest.approx(second[5, 0], abs=0.005)


def test_too_few_pairs_make_no_matrix(scene):
    assert "4 or more pairs" in reason(scene, "pair_matrices")


def test_variants_stand_in_the_ablation_and_the_plain_one_elsewhere():
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
    shown = one(scene, "average_success").panels[0].series
    assert [each.label for each in shown] == ["PM", "RECALL"]
    figure = one(scene, "ablation")
    assert figure.name == "ablation-recall-cw3"
    variants = [each.label for each in figure.panels[0].series]
    assert variants == ["RECALL", "RECALL, no distillation", "RECALL, no normalisation"]
    colours = [each.colour for each in figure.panels[0].series]
    assert colours[0] == METHODS["recall"].colour
    assert len(set(colours)) == 3
    said = [text.get_text() for text in figure.figure.texts]
    assert said == ["RECALL", "no distillation", "no normalisation"]
    names = {"RECALL": "Ours", "RECALL, no distillation": "TN alone"}
    renamed = Scene(arranged(Collection(tuple(runs)), names=names))
    said = [text.get_text() for text in one(renamed, "ablation").figure.texts]
    assert said == ["Ours", "TN alone", "no normalisation"]


def test_a_task_switch_shows_the_first_two_tasks_on_scales_that_fit(scene):
    figure = one(scene, "task_switch")
    policy, loss, value = figure.figure.axes
    assert all(axes.get_xlim() == (0, 2 * PER_TASK) for axes in figure.figure.axes)
    assert (policy.get_yscale(), loss.get_yscale(), value.get_yscale()) == ("symlog", "log", "log")
    drawn = line(value, "PM")
    assert np.median(drawn.get_ydata()[drawn.get_xdata() <= PER_TASK]) == pytest.approx(
        1e3, rel=0.3
    )
    assert np.median(drawn.get_ydata()[drawn.get_xdata() > PER_TASK]) == pytest.approx(10, rel=0.3)


def test_plasticity_shows_what_the_records_say(scene):
    figure = one(scene, "plasticity")
    assert len(figure.figure.axes) == 8
    axes = figure.figure.axes[4]
    assert axes.get_title(loc="left") == "critic: dormant units"
    run = runs_of(scene, "recall", "cw3-1")[0]
    there = np.isfinite(run.training["dormant_q"])
    np.testing.assert_array_equal(line(axes, "RECALL").get_xdata(), run.training["step"][there])


def test_q_scale_has_a_curve_for_each_task_from_its_first_step(scene):
    axes = one(scene, "q_scale").figure.axes[0]
    starts = [line(axes, task).get_xdata()[0] for task in ("push", "window-close", "hammer")]
    assert starts == sorted(starts)
    assert starts[2] > 2 * PER_TASK


def test_every_run_is_a_dot_beside_the_mean(scene):
    figure = one(scene, "seeds")
    performance, forgetting = figure.figure.axes[:2]
    labels = [text.get_text() for text in performance.get_yticklabels()]
    assert labels == ["Fine-tuning", "PM", "RECALL"]
    for axes, metric in ((performance, PERFORMANCE), (forgetting, FORGETTING)):
        dots, means = marked(axes, RUNS), marked(axes, MEAN)
        for place, label in enumerate(labels):
            scores = [scene.board.get(label, sequence) for sequence in ("cw3-1", "cw3-2")]
            expected = np.mean([each.metric(metric).value for each in scores])
            drawn = dots[place].get_offsets()
            assert len(drawn) == 6
            assert drawn[:, 0].mean() == pytest.approx(expected)
            assert means[place].get_offsets()[0, 0] == pytest.approx(expected)


def test_scaling_goes_by_the_number_of_tasks():
    lengths = ["push,hammer", "cw3-1", "cw6-1"]
    scene = Scene(made_collection(["recall"], lengths, seeds=2, singles=False))
    axes = one(scene, "scaling").figure.axes[0]
    drawn = line(axes, "RECALL")
    assert drawn.get_xdata().tolist() == [2, 3, 6]
    expected = scene.board.get("RECALL", "cw3-1").performance.value
    assert drawn.get_ydata()[1] == pytest.approx(expected)


def test_many_evaluations_are_drawn_as_means_of_neighbours():
    sequence = "cw20"
    one_run = made_run("recall", sequence, 0, evaluations=50)
    figure = one(Scene(Collection((one_run,))), "task_curves")
    (series,) = figure.panels[0].series
    assert len(series.x) == 20 * 5
    success = one_run.curves["stochastic", "success"]
    np.testing.assert_allclose(series.y[0], success[:10, 0].mean())
    np.testing.assert_allclose(series.x[-1], 20 * PER_TASK)
    assert "means of neighbouring evaluations" in figure.caption
    few = Scene(Collection((made_run("recall", sequence, 0, evaluations=5),)))
    assert "neighbouring" not in one(few, "task_curves").caption


def test_unfinished_runs_and_missing_numbers_are_drawn_as_far_as_they_go():
    half = made_run("recall", "cw3-1", 0, until=PER_TASK + 500_000, records=True)
    other = made_run("recall", "cw3-1", 1)
    blank = dict(other.curves)
    blank["stochastic", "success"] = other.curves["stochastic", "success"].copy()
    blank["stochastic", "success"][3] = np.nan
    other = dataclasses.replace(other, curves=blank)
    vars(other)["training"] = {}
    scene = Scene(Collection((half, other)))
    found = list(all_figures(scene))
    assert {s.kind for s in found if isinstance(s, Figure)} >= {"average_success", "plasticity"}
    drawn = line(one(scene, "average_success").figure.axes[0], "RECALL")
    assert len(drawn.get_xdata()) == 30
    assert np.isfinite(drawn.get_ydata()).all()


def test_what_learns_all_tasks_at_once_has_no_current_task(scene):
    together = made_run("multi_task", "cw3-1", 0, records=True)
    everyone = Scene(Collection((*scene.collection.runs, together)))
    for kind, there in (("average_success", True), ("current_task", False), ("seeds", True)):
        labels = [series.label for series in one(everyone, kind).panels[0].series]
        assert ("Multi-task" in labels) == there
    assert len(one(everyone, "seeds").panels[1].series) == 3  # it forgets nothing
    assert "one task after the other" in reason(Scene(Collection((together,))), "task_switch")


def test_panels_know_their_place_on_the_picture(scene):
    figure = one(scene, "average_success")
    first, second = figure.panels
    assert 0 < first.box[0] < first.box[2] < second.box[0] < second.box[2] < 1
    assert 0 < first.box[1] < first.box[3] < 1
    assert first.x_range == (0, 3 * PER_TASK)
    series = first.series[-1]
    assert (series.label, series.colour) == ("RECALL", METHODS["recall"].colour)
    assert len(series.x) == len(series.y) == len(series.low) == 30
