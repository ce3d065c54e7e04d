"""Forward transfer compares with runs of the same settings, or says why it does not."""

import shlex

import pytest

from recall.commands.train import parse_train, spec_of
from recall.report.tables import all_tables
from recall.report.tables.table import notes_below
from recall.report.train_command import reference_command
from recall.results.collection import gather
from recall.results.scores import ScoreBoard
from tests.factories.folders import write_fleet, write_log


def notes_of(folder) -> str:
    board = ScoreBoard(gather(folder))
    return " ".join(note for table in all_tables(board) for note in notes_below(table))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden": (32, 32, 32)}, "hidden 32x32x32 and not hidden 256x256x256x256"),
        ({"batch_size": 32}, "batch size 32 and not batch size 128"),
        ({"preset": "paper"}, "activation relu"),
        ({"learning_rate": 0.1}, "learning rate 0.1 and not learning rate 0.001"),
        ({"random_steps": 7}, "random steps 7 and not random steps 10,000"),
        ({"evaluate_every": 500}, "evaluate every 500 and not evaluate every 250"),
        ({"normalise_targets": True}, "normalised and not no normalisation"),
    ],
)
def test_a_mismatch_is_named_and_left_out(tmp_path, changes, words):
    write_fleet(tmp_path / "a", "recall", "push,hammer")
    write_fleet(tmp_path / "b", sequence=["push", "hammer"], **changes)
    (scores,) = ScoreBoard(gather(tmp_path)).scores.values()
    assert scores.forward_transfer is None
    assert scores.missing_references == ["push", "hammer"]
    assert any(words in reason for reason in scores.refused)
    told = notes_of(tmp_path)
    assert f"Not comparable with RECALL, so left out: push in {tmp_path / 'b'} has" in told
    assert words in told


def test_settings_of_the_method_alone_do_not_matter(tmp_path):
    write_fleet(tmp_path / "a", "recall", "push,hammer", distil=False, step_size=0.1)
    write_fleet(tmp_path / "b", "perfect_memory", "push,hammer", preset="quick")
    write_fleet(tmp_path / "c", sequence=["push", "hammer"])
    write_fleet(tmp_path / "d", sequence=["push", "hammer"], preset="quick")
    found = {scores.method: scores for scores in ScoreBoard(gather(tmp_path)).scores.values()}
    # PM has other batches than plain SAC in the preset `quick`, as a part of the method.
    assert not any(scores.missing_references for scores in found.values())
    board = gather(tmp_path)
    for method, folder in (("recall", "c"), ("perfect_memory", "d")):
        run = next(run for run in board.runs if run.method == method)
        assert {other.folder.name for other in board.references(run, "push").runs} == {folder}


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("recall", {}),
        ("recall", {"preset": "quick", "hidden": (48,), "distil": False}),
        ("perfect_memory", {"preset": "quick", "batch_size": 16, "discount": 0.9}),
        ("ewc", {"preset": "paper", "reward": "v2", "overlap": False}),
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
        list(options.sequence),
        options.seeds,
        preset=options.preset or "default",
        batch_size=chosen.method.batch_size,
        **{name: getattr(settings.schedule, name) for name in ("random_steps", "overlap")},
        reward=settings.world.reward,
        hidden=settings.learner.network.hidden,
        discount=settings.learner.sac.discount,
    )
    found = gather(tmp_path)
    assert [len(found.references(run, task).runs) for task in run.tasks] == [2, 2]


def test_logs_are_compared_with_logs_of_the_same_settings(tmp_path):
    write_log(tmp_path / "cl", cl_method="ewc", cl_reg_coef=10.0)
    assert "Logs of single tasks from the same code are needed" in notes_of(tmp_path)
    for task in ("push", "hammer"):
        write_log(tmp_path / task, [f"{task}-v1"], lr=0.5)
    (scores,) = ScoreBoard(gather(tmp_path)).scores.values()
    assert any("lr 0.5 and not lr 0.001" in reason for reason in scores.refused)
    assert "recall train" not in notes_of(tmp_path)
