"""Forward transfer compares with runs of the same settings, or says why it does not."""

import shlex

import numpy as np
import pytest

import recall
from recall.analysis import collection
from recall.analysis.collection import gather
from recall.analysis.estimates import estimate
from recall.analysis.frames import analyse
from recall.analysis.metrics import TRANSFER, Curves, area_at
from recall.analysis.references import References
from recall.commands.train import parse_train, spec_of
from recall.config.spec import each_alone
from recall.report.tables import all_tables
from recall.report.tables.table import notes_below
from recall.report.train_command import reference_command
from tests.factories.folders import write_fleet


def notes_of(folder) -> str:
    tables = all_tables(analyse(gather(folder)))
    return " ".join(note for table in tables for note in notes_below(table))


def references_of(folder, *reference) -> dict[str, References]:
    """The single-task runs that the only label is compared with, by task."""
    analysis = analyse(gather(folder, reference))
    assert analysis.scores["label"].nunique() == 1
    return {task: found for (_, _, task), found in analysis.references.items()}


def alone_of(folder) -> list[tuple[float, ...]]:
    """The areas of the references of each task."""
    return analyse(gather(folder)).scores.drop_duplicates("task")["alone"].tolist()


def transfer_of(folder, *reference):
    return estimate(analyse(gather(folder, reference)).scores, TRANSFER)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch_size": 32}, "batch size 32 and not batch size 128"),
        ({"preset": "paper"}, "activation relu"),
        ({"random_steps": 7}, "random steps 7 and not random steps 10,000"),
        ({"normalise_targets": True}, "normalised and not no normalisation"),
    ],
)
def test_a_mismatch_is_named_and_left_out(tmp_path, changes, words):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", sequence=[["push"], ["hammer"]], **changes)
    found = references_of(tmp_path)
    assert transfer_of(tmp_path) is None
    assert [each.runs for each in found.values()] == [[], []]
    assert all(words in reason for each in found.values() for reason in each.refused)
    told = notes_of(tmp_path)
    assert f"push in {tmp_path / 'b'} has" in told
    assert words in told


def test_settings_of_the_method_alone_do_not_matter(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", distil=False, step_size=0.1)
    write_fleet(tmp_path / "b", "perfect_memory", "push,hammer", preset="quick")
    write_fleet(tmp_path / "c", sequence=[["push"], ["hammer"]])
    write_fleet(tmp_path / "d", sequence=[["push"], ["hammer"]], preset="quick")
    # PM has other batches than plain SAC in the preset `quick`, as a part of the method.
    board = gather(tmp_path)
    for method, folder in (("recall", "c"), ("perfect_memory", "d")):
        run = next(run for run in board.runs if run.method == method)
        assert {other.folder.name for other in board.references(run, "push").runs} == {folder}


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("ewc", {"preset": "paper", "reward": "v2", "policy_lag": 0}),
        ("recall", {"preset": "quick", "hidden": (48,), "distil": False}),
        ("perfect_memory", {"preset": "quick", "batch_size": 16, "discount": 0.9}),
    ],
)
def test_the_advice_trains_what_can_be_compared(tmp_path, method, changes):
    folder = write_fleet(tmp_path / "a", method, "point-rich,point-poor", **changes)
    run = gather(folder).runs[0]
    command = reference_command(run, run.tasks, (0, 1))
    assert command in notes_of(folder)
    options, words = parse_train(shlex.split(command)[2:])
    chosen = spec_of(options, words)
    settings = chosen.settings
    write_fleet(
        tmp_path / "b",
        chosen.method.name,
        each_alone(options.sequence),
        options.seeds,
        preset=options.preset or "default",
        batch_size=chosen.method.batch_size,
        **{name: getattr(settings.schedule, name) for name in ("random_steps", "policy_lag")},
        reward=settings.world.reward,
        hidden=settings.learner.network.hidden,
        discount=settings.learner.sac.discount,
    )
    found = gather(tmp_path)
    assert [len(found.references(run, task).runs) for task in run.tasks] == [2, 2]


def half_then_all(seed, position, step):
    """0 at step 250, 0.5 at 500, 0.5 at 750 and 1 at 1000 of a stage; the same ever after."""
    return {250: 0.0, 500: 0.5, 750: 0.5}.get(step - 1_000 * position, 1.0)


def test_a_reference_with_another_interval_is_read_at_the_runs_steps(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", success=lambda *place: 0.75)
    # Evaluated every 500 steps: 0.5 and 1. At 250, 500, 750 and 1000: 0.5, 0.5, 0.75 and 1.
    write_fleet(
        tmp_path / "b", sequence=[["push"], ["hammer"]], success=half_then_all, evaluate_every=500
    )
    assert np.array(alone_of(tmp_path)) == pytest.approx(np.full((2, 2), 0.6875))
    assert transfer_of(tmp_path).value == pytest.approx((0.75 - 0.6875) / (1 - 0.6875))
    assert "evaluate every 500 and not evaluate every 250" in notes_of(tmp_path)
    # Runs with the same interval come first, and their areas are the means of their evaluations.
    write_fleet(
        tmp_path / "c", sequence=[["push"], ["hammer"]], seeds=(2, 3), success=half_then_all
    )
    assert alone_of(tmp_path) == [(0.5, 0.5)] * 2
    assert "interpolated" not in notes_of(tmp_path)


def test_of_a_longer_reference_the_beginning_counts(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", success=lambda *place: 0.75)

    def write_alone(name, steps, **choices):
        write_fleet(
            tmp_path / name,
            sequence=[["push"], ["hammer"]],
            success=half_then_all,
            steps_per_task=steps,
            **choices,
        )

    # Of all 4,000 steps the mean is 0.875; of the first 1,000, as in a run of that length, 0.5.
    write_alone("longest", 4_000)
    assert alone_of(tmp_path) == [(0.5, 0.5)] * 2
    assert transfer_of(tmp_path).value == pytest.approx(0.5)
    assert "4,000 steps per task and not 1,000 steps per task" in notes_of(tmp_path)
    # No more steps than needed come first, but neither shorter runs nor those whose beginning was
    # hardly evaluated.
    write_alone("longer", 2_000, evaluate_every=50)
    write_alone("rarely evaluated", 1_500, evaluate_every=500)
    write_alone("shorter", 500)
    found = gather(tmp_path)
    run = next(run for run in found.runs if run.method == "recall")
    assert {other.folder.name for other in found.references(run, "push").runs} == {"longer"}
    # Of the same length, those with the same settings.
    write_alone("as long, but rounded", 2_000, precision="bfloat16")
    write_alone("as long", 2_000)
    found = gather(tmp_path)
    assert {other.folder.name for other in found.references(run, "push").runs} == {"as long"}
    write_alone("same", 1_000)
    found = gather(tmp_path)
    assert {other.folder.name for other in found.references(run, "push").runs} == {"same"}


def test_shipped_runs_of_the_exact_length_come_before_longer_ones_that_were_found(tmp_path):
    def write(name, method, steps):
        settings = {"steps_per_task": steps, "evaluate_every": 30_000, "precision": "bfloat16"}
        write_fleet(tmp_path / name, method, "push", (0,), **settings)

    write("a", "recall", 300_000)
    write("longer", "fine_tuning", 600_000)
    found = gather(tmp_path)
    run = next(run for run in found.runs if run.method == "recall")
    references = found.references(run, "push")
    assert references.shipped
    assert len(references.runs) == 5
    write("same", "fine_tuning", 300_000)
    references = gather(tmp_path).references(run, "push")
    assert not references.shipped
    assert {other.folder.name for other in references.runs} == {"same"}


def test_interpolation_starts_at_step_0_if_it_was_evaluated():
    steps = np.array([100, 200, 300, 400])
    success = np.array([0.0, 1.0, 0.5])
    alone = Curves(("push",), 400, np.array([0, 200, 400]), success[:, None])
    # 0.5, 1, 0.75 and 0.5
    assert area_at(alone, steps) == pytest.approx(0.6875)
    late = Curves(("push",), 400, np.array([200, 400]), success[1:, None])
    # 1, 1, 0.75 and 0.5
    assert area_at(late, steps) == pytest.approx(0.8125)
    short = Curves(("push",), 400, np.array([100, 200]), success[1:, None])
    assert np.isnan(area_at(short, steps))


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder in the place of the package's own."""
    folder = tmp_path / "shipped"
    source = write_fleet(
        tmp_path / "trained", sequence=[["push"], ["hammer"]], seeds=(5, 6, 7), precision="bfloat16"
    )
    recall.archive(source, folder / "reference")
    found = collection.shipped_references(folder)
    monkeypatch.setattr(collection, "shipped_references", lambda: found)
    return folder


def test_shipped_references_are_used_where_there_are_no_others(tmp_path, shipped):
    write_fleet(tmp_path / "runs" / "a", "recall", "push,hammer")
    assert transfer_of(tmp_path / "runs") is not None
    found = references_of(tmp_path / "runs")["push"]
    assert ([run.seed for run in found.runs], found.shipped) == ([5, 6, 7], True)
    told = notes_of(tmp_path / "runs")
    assert "shipped with the package" in told
    assert "precision bfloat16 and not precision default" in told
    assert str(shipped) not in told
    # They are compared with, but not reported.
    assert {run.seed for run in gather(tmp_path / "runs").runs} == {0, 1}
    # A folder with references wins over them.
    write_fleet(tmp_path / "alone", sequence="push", seeds=(0,))
    found = references_of(tmp_path / "runs", tmp_path / "alone")
    assert [run.seed for run in found["push"].runs] == [0]
    assert [run.seed for run in found["hammer"].runs] == [5, 6, 7]


def test_a_reference_without_an_average_is_used_if_there_is_no_other(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", sequence=[["push"], ["hammer"]], average_actor=None)
    run = next(run for run in gather(tmp_path).runs if run.method == "recall")
    assert {each.folder.name for each in gather(tmp_path).references(run, "push").runs} == {"b"}
    assert "no average actor and not average actor 0.002" in notes_of(tmp_path)
    write_fleet(tmp_path / "c", sequence=[["push"], ["hammer"]])
    assert {each.folder.name for each in gather(tmp_path).references(run, "push").runs} == {"c"}
