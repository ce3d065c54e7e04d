"""An unwell run is reported once, wherever a person looks, and keeps training."""

import jax
import pytest

from recall.runs import health
from recall.runs.store import read
from recall.training.callbacks import Callback, CallbackList
from tests.factories.events import Seen, events
from tests.factories.fleets import CrashError, go_on, left_by, run, small_spec, start

NAMES = [f"recall-point-rich,point-poor-seed{seed}" for seed in range(2)]


def unwell_spec(**changes):
    """A fleet whose temperatures start at 9e-14."""
    return small_spec(initial_log_alpha=-30.0, **changes)


class Heard(Callback):
    """Keeps the warnings."""

    def __init__(self):
        self.warnings = []

    def on_health(self, name, step, warning):
        self.warnings.append((name, step, warning))


class CrashAfterWarning(Heard):
    def on_health(self, name, step, warning):
        super().on_health(name, step, warning)
        raise CrashError


class CrashAtTaskEnd(Heard):
    """Ends training right after the checkpoint at the end of the first task."""

    def on_task_end(self, task):
        raise CrashError


@pytest.fixture(scope="module")
def unwell(tmp_path_factory):
    """The folder of the unwell fleet, what callbacks showed of it, and its warnings."""
    folder, seen, heard = tmp_path_factory.mktemp("unwell"), Seen(), Heard()
    run(start(unwell_spec(), folder, CallbackList([seen.callback, heard])))
    seen.callback.close()
    return folder, seen, heard.warnings


def test_a_warning_says_which_run_and_task_and_what_it_means(unwell):
    warnings = unwell[2]
    assert [(name, step) for name, step, _ in warnings] == [
        (name, step) for step in (100, 400) for name in NAMES
    ]
    for (_, _, text), task in zip(warnings, ["point-rich"] * 2 + ["point-poor"] * 2, strict=True):
        assert text.startswith(f"the temperature of {task} has collapsed (alpha 9.")
        assert text.endswith("e-14), so its policy no longer explores")


def test_lines_the_live_view_and_tensorboard_show_every_warning_once(unwell):
    folder, seen, warnings = unwell
    lines = seen.lines.getvalue().splitlines()
    expected = [f"warning: run {name} at step {step}: {text}" for name, step, text in warnings]
    assert [line for line in lines if line.startswith("warning: ")] == expected
    screen = " ".join(seen.screen.getvalue().split())  # long lines are wrapped
    assert [screen.count(line) for line in expected] == [1] * 4
    for name in NAMES:
        found = events(folder / "tensorboard" / name)
        assert [step for tag, step in found if tag.startswith("health")] == [100, 400]


def test_the_records_hold_every_warning_and_the_run_keeps_training(unwell):
    folder, _, warnings = unwell
    results = read(folder)
    assert results.outcome.finished
    assert results.outcome.failed == {}
    records = [record for record in results.training if "health" in record]
    assert records == [
        {
            "run": NAMES.index(name),
            "step": step,
            "position": position,
            "health": health.COLLAPSED_TEMPERATURE,
            "message": text,
        }
        for (name, step, text), position in zip(warnings, (0, 0, 1, 1), strict=True)
    ]
    assert results.training[-1]["step"] == 600


@pytest.mark.slow
def test_a_warning_that_a_checkpoint_holds_is_not_repeated(unwell, tmp_path):
    folder, _, warnings = unwell
    before, after = CrashAtTaskEnd(), Heard()
    with pytest.raises(CrashError):
        run(start(unwell_spec(), tmp_path, before))
    run(go_on(tmp_path, after)[0])
    assert before.warnings == warnings[:2]
    assert after.warnings == warnings[2:]
    assert left_by(tmp_path) == left_by(folder)


def test_a_warning_after_the_last_checkpoint_is_given_again(unwell, tmp_path):
    folder, _, warnings = unwell
    before, after = CrashAfterWarning(), Heard()
    with pytest.raises(CrashError):
        run(start(unwell_spec(checkpoint_minutes=10.0), tmp_path, before))
    run(go_on(tmp_path, after)[0])
    assert before.warnings == warnings[:1]
    assert after.warnings == warnings
    assert left_by(tmp_path) == left_by(folder)


@pytest.mark.slow
def test_constant_and_exploding_critics_are_told_apart(tmp_path):
    """Two runs with critics made by hand, which a tiny learning rate leaves as they are."""
    heard = Heard()
    spec = small_spec(
        "fine_tuning",
        "point-poor",
        learning_rate=1e-12,
        initial_log_alpha=-18.0,  # of no weight, and not collapsed
        steps_per_task=400,
    )
    trainer = start(spec, tmp_path, heard)

    def remade(leaf):
        return leaf.at[0].set(0.0).at[1].multiply(100.0)

    trainable = trainer.state.trainable
    critics = {
        name: jax.tree.map(remade, getattr(trainable, name)) for name in ("critic", "target")
    }
    trainer.state = trainer.state._replace(trainable=trainable._replace(**critics))
    run(trainer)
    told = [(name[-5:], step) for name, step, _ in heard.warnings]
    assert told == [("seed0", 100), ("seed0", 150), ("seed1", 300)]
    vanished, dead, diverging = (text for _, _, text in heard.warnings)
    assert "the policy gradient on point-poor has vanished" in vanished
    assert "100% of the hidden units of the critics are dormant on point-poor" in dead
    assert "the mean Q of point-poor is" in diverging
