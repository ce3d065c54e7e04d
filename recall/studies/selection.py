"""The selection of a study's runs: the user's choices applied, with all settings complete."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recall.config.resolve import choose
from recall.config.spec import FleetSpec, each_alone, make_spec
from recall.errors import BadValueError, UnknownNameError
from recall.methods import METHODS, Method
from recall.settings import ScheduleSettings, Settings
from recall.studies.declared import Study, Variant
from recall.worlds.sequences import parse_sequence

# The settings that `--scale` scales: durations in steps of a task.
_LENGTHS = ("steps_per_task", "evaluate_every", "record_every")
# A task takes as long to explore in a short training, so these stay, up to a share of its steps.
_EXPLORATION = ("random_steps", "update_after")
_MOST_EXPLORATION = 0.1


@dataclass(frozen=True)
class Choices:
    """The user's choices for a study, as the options of `recall study` say; empty tuples: all."""

    scale: float = 1.0
    seeds: int | None = None
    tasks: tuple[str, ...] = ()
    sequences: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    preset: str = "default"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that override the preset; the study's own settings override these."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Settings that override `changes`."""


@dataclass(frozen=True)
class Group:
    """Runs that may train as one fleet: one variant on sequences of one length."""

    variant: Variant
    spec: FleetSpec


def groups_of(study: Study, choices: Choices) -> list[Group]:
    """Return the chosen runs of a study, one group for each variant and length of sequence."""
    seeds = range(study.seeds if choices.seeds is None else choices.seeds)
    by_length: dict[int, list[str]] = {}
    for sequence in _sequences(study, choices):
        by_length.setdefault(len(parse_sequence(sequence).tasks), []).append(sequence)
    groups = []
    for variant in _variants(study, choices.methods):
        method, settings = settings_of(study, variant, choices)
        for sequences in by_length.values():
            groups.append(Group(variant, make_spec(method, each_alone(sequences), seeds, settings)))
    return groups


def _sequences(study: Study, choices: Choices) -> tuple[str, ...]:
    sequences = choices.sequences or study.sequences
    parsed = {sequence: parse_sequence(sequence).tasks for sequence in sequences}
    known = {task for tasks in parsed.values() for task in tasks}
    for task in choices.tasks:
        if task not in known:
            raise UnknownNameError(f"task of study {study.name}", task, sorted(known))
    if not choices.tasks:
        return tuple(parsed)
    kept = tuple(name for name, tasks in parsed.items() if set(tasks) <= set(choices.tasks))
    if not kept:
        raise BadValueError(
            f"no sequence of study {study.name} is made of {', '.join(choices.tasks)} alone; "
            "--sequences takes any tasks joined by commas"
        )
    return kept


def _variants(study: Study, names: Sequence[str]) -> tuple[Variant, ...]:
    """Return the named variants. A method's name selects all its variants, or the plain method."""
    if not names:
        return study.variants
    found: dict[str, Variant] = {}
    for name in names:
        method = name.replace("-", "_")
        mine = [each for each in study.variants if each.title == name or each.method == method]
        if not mine and method not in METHODS:
            titles = [variant.title for variant in study.variants]
            valid = dict.fromkeys((*titles, *METHODS))
            raise UnknownNameError(f"method of study {study.name}", name, valid)
        for variant in mine or [Variant(method)]:
            found[variant.title] = variant
    return tuple(found.values())


def settings_of(study: Study, variant: Variant, choices: Choices) -> tuple[Method, Settings]:
    """Return the method and settings of a variant's runs, at the chosen scale."""
    layers = (choices.changes, choices.given, variant.changes)
    method, settings = choose(variant.method, Settings(), choices.preset, *layers)
    scale = study.scale * choices.scale
    schedule = scaled(settings.schedule, scale)
    changes: dict[str, Any] = {
        name: max(1, round(share * schedule.steps_per_task))
        for name, share in variant.shares.items()
    }
    if method.retraining_updates:
        burst = settings.learner.updates_per_burst
        changes["retraining_updates"] = _shrunk(method.retraining_updates, scale, burst)
    return (
        dataclasses.replace(method, **changes),
        dataclasses.replace(settings, schedule=schedule),
    )


def scaled(schedule: ScheduleSettings, scale: float) -> ScheduleSettings:
    """Return a schedule with durations multiplied by `scale`, in whole chunks.

    Exploration is as long as at full scale, but at most a tenth of a task, or its share of the
    full study where that is more.
    """
    chunk = schedule.chunk_steps
    steps = scale * schedule.steps_per_task
    if not steps >= chunk:  # or is not a number
        raise BadValueError(
            f"scale {scale:g} leaves {steps:g} of {schedule.steps_per_task:,} steps per task, less "
            f"than a chunk of {chunk}; the smallest scale is {chunk / schedule.steps_per_task:g}"
        )
    if scale == 1:
        return schedule
    lengths: dict[str, Any] = {
        name: _shrunk(getattr(schedule, name), scale, chunk) for name in _LENGTHS
    }
    most = _shrunk(lengths["steps_per_task"], _MOST_EXPLORATION, chunk)
    explored = {name: getattr(schedule, name) for name in _EXPLORATION}
    lengths |= {
        name: min(steps, max(most, _shrunk(steps, scale, chunk)))
        for name, steps in explored.items()
    }
    return dataclasses.replace(schedule, **lengths)


def _shrunk(length: int, scale: float, whole: int) -> int:
    """Return `length` times `scale` as a multiple of `whole`, at least one of it; 0 stays 0."""
    return max(1, round(scale * length / whole)) * whole if length else 0
