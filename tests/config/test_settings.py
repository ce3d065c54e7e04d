"""Settings check themselves, whatever creates them."""

import math
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from recall.config.resolve import paths
from recall.errors import BadValueError, RecallError
from recall.learn.method import Method
from recall.methods import METHODS, Recall
from recall.settings import (
    LearnerSettings,
    NetworkSettings,
    PopArtSettings,
    SacSettings,
    ScheduleSettings,
    Settings,
    WorldSettings,
)
from recall.settings.checked import Words, from_plain

BAD = [
    (ScheduleSettings, {"steps_per_task": 120}, "multiple of chunk_steps, which is 50; 100 is the"),
    (ScheduleSettings, {"steps_per_task": 10}, "expected a multiple of chunk_steps.*50 is the"),
    (ScheduleSettings, {"steps_per_task": 100.5}, "is 100.5; expected a whole number"),
    (ScheduleSettings, {"steps_per_task": 1e10}, "a whole number of at most 2,147,483,647"),
    (ScheduleSettings, {"steps_per_task": 10**5000}, "steps_per_task is about 2"),
    (ScheduleSettings, {"steps_per_task": math.inf}, "is inf; expected a whole number"),
    (ScheduleSettings, {"steps_per_task": "100"}, "is '100'; expected a whole number"),
    (ScheduleSettings, {"steps_per_task": True}, "is True; expected a whole number"),
    (ScheduleSettings, {"evaluation_episodes": 0}, "is 0; expected a whole number of at least 1"),
    (ScheduleSettings, {"checkpoint_minutes": 0}, "is 0.0; expected a number above 0"),
    (ScheduleSettings, {"random_steps": -5}, "is -5; expected a whole number of at least 0"),
    (ScheduleSettings, {"policy_lag": -1}, "policy_lag is -1; expected a whole number of at least"),
    (SacSettings, {"bound_targets": 1}, "bound_targets is 1; expected true or false"),
    (NetworkSettings, {"hidden": ()}, "hidden is empty"),
    (NetworkSettings, {"hidden": 64}, "hidden is 64; expected a list"),
    (NetworkSettings, {"hidden": (64, 0, 64)}, "hidden is 0; expected a whole number of at least"),
    (NetworkSettings, {"head_layers": 5}, "head_layers is 5, but the network has 4 hidden layers"),
    (NetworkSettings, {"head_layers": -1}, "head_layers is -1; .* of at least 0"),
    (SacSettings, {"learning_rate": math.nan}, "learning_rate is nan; expected a number"),
    (SacSettings, {"learning_rate": 2}, "is 2.0; expected a number of at least 0 and at most 1"),
    (SacSettings, {"adam_epsilon": 0.0}, "adam_epsilon is 0.0; expected a number above 0"),
    (SacSettings, {"adam_epsilon": 1e-60}, "is 1e-60, which is too small for a 32-bit number"),
    (SacSettings, {"adam_epsilon": 1e60}, r"is 1e\+60, which is too large for a 32-bit number"),
    (SacSettings, {"initial_log_alpha": -math.inf}, "initial_log_alpha is -inf; expected a number"),
    (SacSettings, {"target_output_std": -1}, "target_output_std is -1.0; .* above 0"),
    (SacSettings, {"discount": 1.5}, "of at least 0 and at most 1"),
    (SacSettings, {"precision": "bf16"}, "unknown precision 'bf16'; did you mean 'bfloat16'"),
    (PopArtSettings, {"step_size": 2}, "step_size is 2.0; expected"),
    (PopArtSettings, {"sigma_bounds": (5, 1)}, "expected the smaller bound first"),
    (PopArtSettings, {"sigma_bounds": (1.0,)}, "expected 2 values"),
    (PopArtSettings, {"statistics_of": "row"}, "did you mean 'raw'"),
    (WorldSettings, {"horizon_steps": 0}, "horizon_steps is 0"),
    (Settings, {"schedule": 5}, "schedule is 5; expected named settings"),
    (Settings, {"schedule": {"stepz": 5}}, "unknown setting 'stepz'"),
    (Recall, {"distillation_kl": "avg"}, "unknown distillation_kl 'avg'"),
    (Recall, {"sampling": "half"}, "unknown sampling 'half'.*balanced"),
    (Recall, {"distil": "no"}, "distil is 'no'; expected true or false"),
]


@pytest.mark.parametrize(("kind", "bad", "message"), BAD)
def test_a_value_that_cannot_be_used_is_refused_on_creation(kind, bad, message):
    with pytest.raises(RecallError, match=message) as caught:
        kind(**bad)
    assert "\n" not in str(caught.value)
    assert next(iter(bad)) in str(caught.value) or "stepz" in str(caught.value)


def test_a_changed_copy_is_checked_too():
    with pytest.raises(BadValueError, match="multiple of chunk_steps"):
        replace(ScheduleSettings(), chunk_steps=70)


def test_values_become_what_their_types_say():
    schedule = ScheduleSettings(steps_per_task=1e6, workers=np.int64(3), checkpoint_minutes=5)
    assert schedule == ScheduleSettings(1_000_000, workers=3, checkpoint_minutes=5.0)
    kinds = (schedule.steps_per_task, schedule.workers, schedule.checkpoint_minutes)
    assert [type(value) for value in kinds] == [int, int, float]
    assert NetworkSettings(hidden=[64.0, 64, 64]).hidden == (64, 64, 64)
    assert Settings(schedule={"steps_per_task": 500}).schedule == ScheduleSettings(500)
    assert hash(NetworkSettings(hidden=[8, 8, 8])) == hash(NetworkSettings(hidden=(8, 8, 8)))


def test_every_default_survives_its_json_form():
    assert from_plain(Settings, asdict(Settings())) == Settings()
    for method in METHODS.values():
        assert from_plain(method, asdict(method())) == method()


def test_a_subclass_keeps_the_bounds_of_the_settings_whose_default_it_changes():
    @dataclass(frozen=True)
    class Loose(Method):
        name: ClassVar[str] = "loose"
        clip_norm: float | None = 5.0

    assert Loose().clip_norm == 5.0
    with pytest.raises(BadValueError, match=r"clip_norm is -1\.0; expected a number above 0"):
        Loose(clip_norm=-1)


@pytest.mark.parametrize(
    ("kind", "words", "value"),
    [
        (int, "1e6", 1_000_000),
        (int, "2147483647", 2_147_483_647),
        (int, "-5", -5),
        (int | None, "None", None),
        (float, "-1e-3", -0.001),
        (bool, "", True),
        (bool, "false", False),
        (tuple[int, ...], "64 1e2", (64, 100)),
        (tuple[int, ...], "", ()),
        (tuple[float, float], "1e-4 1e6", (1e-4, 1e6)),
        (str, "cw3-1", "cw3-1"),
    ],
)
def test_words_of_the_command_line_become_values(kind, words, value):
    found = from_plain(kind, Words(words.split()), "it")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "words", "message"),
    [
        (int, "1.5", "it is 1.5; expected a whole number"),
        (int, "nan", "it is NaN; expected a whole number"),
        (int, "1e400", "at most 2,147,483,647"),
        (int, "six", "it is 'six'; expected a whole number"),
        (int, "1 2", "it is '1 2'; expected one value"),
        (int, "", "it is ''; expected one value"),
        (float, "inf", "it is Infinity; expected a number"),
        (float, "1e400", "too large"),
        (bool, "maybe", "it is 'maybe'; expected true or false"),
        (tuple[float, float], "1", "expected 2 values"),
    ],
)
def test_words_that_are_no_value_are_refused(kind, words, message):
    with pytest.raises(BadValueError, match=message):
        from_plain(kind, Words(words.split()), "it")


@pytest.mark.parametrize("method", METHODS)
def test_no_two_settings_have_one_name(method):
    """They are options side by side on the command line, and keywords of `recall.train`."""
    names = [path.rsplit(".", 1)[-1] for path in (*paths(METHODS[method]()), *paths(Settings()))]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("burst", "turn"), [(50, 10), (1, 1), (7, 7), (13, 1), (24, 8)])
def test_a_turn_divides_a_burst_and_has_at_most_ten_updates(burst, turn):
    assert LearnerSettings(updates_per_burst=burst).updates_per_turn == turn
