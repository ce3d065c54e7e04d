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
from recall.report.tables.pivot import notes_below
from recall.report.train_command import reference_command
from tests.factories.folders import write_fleet
from tests.factories.tables import tables_of


def notes_of(folder) -> str:
    return " ".join(note for table in tables_of(folder).values() for note in notes_below(table))


def write_alone(folder, **changes):
    """Write runs of fine-tuning on push alone and on hammer alone."""
    return write_fleet(folder, sequence=[["push"], ["hammer"]], **changes)


def alone_of(folder) -> list[tuple[float, ...]]:
    """Return the areas of the references of each task."""
    return analyse(gather(folder)).scores.drop_duplicates("task")["alone"].tolist()


def references_of(folder, method="recall", task="push", reference=()) -> References:
    """Return the single-task runs that a method is compared with."""
    found = gather(folder, reference)
    run = next(run for run in found.runs if run.method == method and len(run.tasks) > 1)
    return found.references(run, task)


def folders_of(folder, method="recall") -> set[str]:
    """Return the names of the folders of the runs that a method is compared with on push."""
    return {run.folder.name for run in references_of(folder, method).runs}


def transfer_of(folder):
    return estimate(analyse(gather(folder)).scores, TRANSFER)


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
    write_alone(tmp_path / "b", **changes)
    assert transfer_of(tmp_path) is None
    for task in ("push", "hammer"):
        found = references_of(tmp_path, task=task)
        assert found.runs == []
        assert all(words in reason for reason in found.refused)
    assert words in notes_of(tmp_path)


def test_settings_of_the_method_alone_do_not_matter(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", distil=False, step_size=0.1)
    write_fleet(tmp_path / "b", "perfect_memory", "push,hammer", preset="quick")
    write_alone(tmp_path / "c")
    write_alone(tmp_path / "d", preset="quick")
    # PM has other batches than plain SAC in the preset `quick`, as a part of the method.
    assert folders_of(tmp_path) == {"c"}
    assert folders_of(tmp_path, "perfect_memory") == {"d"}


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
    write_alone(tmp_path / "b", success=half_then_all, evaluate_every=500)
    assert np.array(alone_of(tmp_path)) == pytest.approx(np.full((2, 2), 0.6875))
    assert transfer_of(tmp_path).value == pytest.approx((0.75 - 0.6875) / (1 - 0.6875))
    assert "evaluate every 500 and not evaluate every 250" in notes_of(tmp_path)
    # Runs with the same interval come first, and their areas are the means of their evaluations.
    write_alone(tmp_path / "c", seeds=(2, 3), success=half_then_all)
    assert alone_of(tmp_path) == [(0.5, 0.5)] * 2
    assert "evaluate every" not in notes_of(tmp_path)


def test_of_a_longer_reference_the_beginning_counts(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", success=lambda *place: 0.75)

    def write(name, steps, **changes):
        write_alone(tmp_path / name, success=half_then_all, steps_per_task=steps, **changes)

    # Of all 4,000 steps the mean is 0.875; of the first 1,000, as in a run of that length, 0.5.
    write("longest", 4_000)
    assert alone_of(tmp_path) == [(0.5, 0.5)] * 2
    assert transfer_of(tmp_path).value == pytest.approx(0.5)
    assert "4,000 steps per task and not 1,000 steps per task" in notes_of(tmp_path)
    # No more steps than needed come first, but neither shorter runs nor those whose beginning was
    # hardly evaluated.
    write("longer", 2_000, evaluate_every=50)
    write("rarely evaluated", 1_500, evaluate_every=500)
    write("shorter", 500)
    assert folders_of(tmp_path) == {"longer"}
    # Of the same length, those with the same settings.
    write("as long, but rounded", 2_000, precision="bfloat16")
    write("as long", 2_000)
    assert folders_of(tmp_path) == {"as long"}
    write("same", 1_000)
    assert folders_of(tmp_path) == {"same"}


def test_shipped_runs_of_the_exact_length_come_before_longer_ones_that_were_found(tmp_path):
    settings = {"seeds": (0,), "evaluate_every": 30_000, "precision": "bfloat16"}
    write_fleet(tmp_path / "a", "recall", "push,hammer", steps_per_task=300_000, **settings)
    write_alone(tmp_path / "longer", steps_per_task=600_000, **settings)
    found = references_of(tmp_path)
    assert (found.shipped, len(found.runs)) == (True, 5)
    write_alone(tmp_path / "same", steps_per_task=300_000, **settings)
    assert not references_of(tmp_path).shipped
    assert folders_of(tmp_path) == {"same"}


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


def test_shipped_references_are_used_where_there_are_no_others(tmp_path, monkeypatch):
    source = write_alone(tmp_path / "trained", seeds=(5, 6, 7), precision="bfloat16")
    recall.archive(source, tmp_path / "shipped")
    found = collection.shipped_references(tmp_path / "shipped")
    monkeypatch.setattr(collection, "shipped_references", lambda: found)
    runs = write_fleet(tmp_path / "runs", "recall", "push,hammer")
    assert transfer_of(runs) is not None
    assert references_of(runs).shipped
    told = notes_of(runs)
    assert "shipped with the package" in told
    assert "precision bfloat16 and not precision default" in told
    # They are compared with, but not reported.
    assert {run.seed for run in gather(runs).runs} == {0, 1}
    # A folder with references wins over them.
    alone = write_fleet(tmp_path / "alone", sequence="push", seeds=(0,))
    for task, seeds in (("push", [0]), ("hammer", [5, 6, 7])):
        assert [run.seed for run in references_of(runs, task=task, reference=alone).runs] == seeds


def test_a_reference_without_an_average_is_used_if_there_is_no_other(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_alone(tmp_path / "b", average_actor=None)
    assert folders_of(tmp_path) == {"b"}
    assert "no average actor and not average actor 0.002" in notes_of(tmp_path)
    write_alone(tmp_path / "c")
    assert folders_of(tmp_path) == {"c"}
