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


def test_every_view_shows_each_warning_once(unwell):
    folder, seen, warnings = unwell
    assert [(name, step) for name, step, _ in warnings] == [
        (name, step) for step in (100, 400) for name in NAMES
    ]
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
    facts = {"health": health.COLLAPSED_TEMPERATURE}
    assert [record for record in results.training if "health" in record] == [
        {"run": NAMES.index(name), "step": step, "position": step // 400, "message": text} | facts
        for name, step, text in warnings
    ]
    assert results.training[-1]["step"] == 600


@pytest.mark.parametrize(
    ("crash", "minutes", "told", "again"),
    [
        # The checkpoint holds the first two warnings.
        pytest.param(CrashAtTaskEnd, 0.003, slice(2), slice(2, 4), marks=pytest.mark.slow),
        (CrashAfterWarning, 10.0, slice(1), slice(4)),
    ],
)
def test_only_a_warning_that_no_checkpoint_holds_is_repeated(
    unwell, tmp_path, crash, minutes, told, again
):
    folder, _, warnings = unwell
    before, after = crash(), Heard()
    with pytest.raises(CrashError):
        run(start(unwell_spec(checkpoint_minutes=minutes), tmp_path, before))
    run(go_on(tmp_path, after)[0])
    assert before.warnings == warnings[told]
    assert after.warnings == warnings[again]
    assert left_by(tmp_path) == left_by(folder)


@pytest.mark.slow
def test_constant_and_exploding_critics_are_told_apart(tmp_path):
    """Two runs with critics made by hand, which a tiny learning rate leaves as they are."""
    spec = small_spec(
        "fine_tuning",
        "point-poor",
        learning_rate=1e-12,
        initial_log_alpha=-18.0,  # of no weight, and not collapsed
        steps_per_task=400,
    )
    trainer = start(spec, tmp_path)

    def remade(leaf):
        return leaf.at[0].set(0.0).at[1].multiply(100.0)

    trainable = trainer.state.trainable
    critics = {
        name: jax.tree.map(remade, getattr(trainable, name)) for name in ("critic", "target")
    }
    trainer.state = trainer.state._replace(trainable=trainable._replace(**critics))
    run(trainer)
    told = [(r["run"], r["step"], r["health"]) for r in read(tmp_path).training if "health" in r]
    assert told == [
        (0, 100, health.VANISHED_POLICY_GRADIENT),
        (0, 150, health.DORMANT_CRITIC_UNITS),
        (1, 300, health.DIVERGING_CRITICS),
    ]
