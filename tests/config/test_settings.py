"""Settings check themselves, whatever creates them."""

import json
import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import pytest

from recall.config.spec import make_spec
from recall.config.stored import spec_from
from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.learn.method import Method
from recall.methods import METHODS, Recall
from recall.settings import (
    LearnerSettings,
    NetworkSettings,
    PopArtSettings,
    SacSettings,
    ScheduleSettings,
    Settings,
)
from recall.settings.checked import Words, from_plain

BAD = [
    (ScheduleSettings, {"steps_per_task": 120}, "100"),  # the nearest multiple of chunk_steps
    (ScheduleSettings, {"steps_per_task": 100.5}, "whole number"),
    (ScheduleSettings, {"steps_per_task": 10**50}, "2,147,483,647"),
    (ScheduleSettings, {"steps_per_task": True}, "whole number"),
    (ScheduleSettings, {"chunk_steps": 70}, "steps_per_task"),
    (ScheduleSettings, {"checkpoint_minutes": 0}, "above 0"),
    (SacSettings, {"bound_targets": 1}, "true or false"),
    (NetworkSettings, {"hidden": ()}, "at least one"),
    (NetworkSettings, {"hidden": 64}, "list"),
    (NetworkSettings, {"hidden": (64, 0, 64)}, "at least 1"),
    (NetworkSettings, {"head_layers": 5}, "at most 4"),
    (NetworkSettings, {"activation": ["relu"]}, "leaky_relu"),
    (SacSettings, {"learning_rate": math.nan}, "number"),
    (SacSettings, {"learning_rate": 2}, "at most 1"),
    (SacSettings, {"adam_epsilon": 1e-60}, "32 bits"),
    (SacSettings, {"precision": "bf16"}, "bfloat16"),
    (PopArtSettings, {"sigma_bounds": (5, 1)}, "smaller bound first"),
    (PopArtSettings, {"sigma_bounds": (1.0,)}, "2 values"),
    (Settings, {"schedule": 5}, "named settings"),
    (Settings, {"schedule": {"stepz": 5}}, "unknown"),
    (Recall, {"sampling": "half"}, "balanced"),
]


@pytest.mark.parametrize(("kind", "bad", "way_out"), BAD)
def test_a_value_that_cannot_be_used_is_refused_on_creation(kind, bad, way_out):
    with pytest.raises(RecallError, match=way_out) as caught:
        kind(**bad)
    assert "\n" not in str(caught.value)
    assert next(iter(bad)) in str(caught.value) or "stepz" in str(caught.value)


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
    ("kind", "words"),
    [(int, "1.5"), (int, "nan"), (int, "1e400"), (int, "six"), (int, "1 2"), (int, ""),
     (float, "1e400"), (bool, "maybe"), (tuple[float, float], "1")],
)  # fmt: skip
def test_words_that_are_no_value_are_refused(kind, words):
    with pytest.raises(BadValueError, match=r"it is .*(expected|too large)"):
        from_plain(kind, Words(words.split()), "it")


@pytest.mark.parametrize(("burst", "turn"), [(50, 10), (1, 1), (7, 7), (13, 1), (24, 8)])
def test_a_turn_divides_a_burst_and_has_at_most_ten_updates(burst, turn):
    assert LearnerSettings(updates_per_burst=burst).updates_per_turn == turn


def test_settings_that_are_gone_are_read_if_they_meant_what_all_runs_do():
    description = json.loads(
        json.dumps(make_spec("ewc", "point-rich", (0,), Settings()).describe())
    )
    spec = spec_from(description)
    description["method"]["clip_critics"] = True
    description["settings"]["learner"]["network"]["critic_norm"] = "first"
    assert spec_from(description) == spec
    description["settings"]["learner"]["network"]["critic_norm"] = "every"
    with pytest.raises(UnknownNameError, match="critic_norm"):
        spec_from(description)
