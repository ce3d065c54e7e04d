"""What is to be run of a study: narrowed, shrunk, every setting complete, and nothing started."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recall.config.presets import choose
from recall.config.spec import FleetSpec, make_spec
from recall.errors import BadValueError, UnknownNameError
from recall.methods import METHODS, Method
from recall.settings import ScheduleSettings, Settings
from recall.studies.study import Study, Variant
from recall.worlds.sequences import parse_sequence

# Lengths of time, counted in steps of a task: what `--scale` shrinks.
_LENGTHS = ("steps_per_task", "evaluate_every", "record_every", "random_steps", "update_after")


@dataclass(frozen=True)
class Choices:
    """What the user chose of a study."""

    scale: float = 1.0
    """Shrinks the steps per task, the evaluation spacing and the exploration, all together."""
    seeds: int | None = None
    """How many, from 0 on; the study's own number where none is given."""
    tasks: tuple[str, ...] = ()
    """Only the sequences that are made of these tasks."""
    sequences: tuple[str, ...] = ()
    """Only these sequences; others than the study's own may be asked the same question."""
    methods: tuple[str, ...] = ()
    """Only these of the study's variants, or other methods beside them, by name."""
    preset: str = "default"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings over the preset, under what the study itself decides."""


@dataclass(frozen=True)
class Group:
    """Runs that may train as one fleet: one variant, sequences of one length."""

    variant: Variant
    spec: FleetSpec


def groups_of(study: Study, choices: Choices) -> list[Group]:
    """Every chosen run of the study, as one fleet for each variant and length of sequence."""
    seeds = range(study.seeds if choices.seeds is None else choices.seeds)
    if not seeds:
        raise BadValueError(f"seeds {choices.seeds}: at least one is needed")
    by_length: dict[int, list[str]] = {}
    for sequence in _sequences(study, choices):
        by_length.setdefault(len(parse_sequence(sequence).tasks), []).append(sequence)
    groups = []
    for variant in _variants(study, choices.methods):
        method, settings = settings_of(study, variant, choices)
        for sequences in by_length.values():
            groups.append(Group(variant, make_spec(method, sequences, seeds, settings)))
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
    """The named variants. A method's name stands for all variants of it, or for itself."""
    if not names:
        return study.variants
    found: dict[str, Variant] = {}
    for name in names:
        mine = [each for each in study.variants if name in (each.title, each.method)]
        if not mine and name not in METHODS:
            titles = [variant.title for variant in study.variants]
            valid = dict.fromkeys((*titles, *METHODS))
            raise UnknownNameError(f"method of study {study.name}", name, valid)
        for variant in mine or [Variant(name)]:
            found[variant.title] = variant
    return tuple(found.values())


def settings_of(study: Study, variant: Variant, choices: Choices) -> tuple[Method, Settings]:
    """Everything that decides a variant's runs, at the chosen scale."""
    method, settings = choose(
        variant.method,
        Settings(),
        choices.preset,
        choices.changes,
        study.changes,
        variant.changes,
    )
    schedule = scaled(settings.schedule, choices.scale)
    changes: dict[str, Any] = {
        name: max(1, round(share * schedule.steps_per_task))
        for name, share in variant.shares.items()
    }
    if method.retraining_updates:
        changes["retraining_updates"] = _shrunk(method.retraining_updates, choices.scale, 1)
    return (
        dataclasses.replace(method, **changes),
        dataclasses.replace(settings, schedule=schedule),
    )


def scaled(schedule: ScheduleSettings, scale: float) -> ScheduleSettings:
    """A schedule with all its lengths times `scale`, in whole chunks."""
    if not scale > 0:
        raise BadValueError(f"scale {scale:g} must be more than 0; 1 is the whole study")
    chunk = schedule.chunk_steps
    steps = scale * schedule.steps_per_task
    if steps < chunk:
        raise BadValueError(
            f"scale {scale:g} leaves {steps:g} of {schedule.steps_per_task:,} steps per task, "
            f"less than one chunk of {chunk}; the smallest is {chunk / schedule.steps_per_task:g}"
        )
    if scale == 1:
        return schedule
    lengths: dict[str, Any] = {
        name: _shrunk(getattr(schedule, name), scale, chunk) for name in _LENGTHS
    }
    return dataclasses.replace(schedule, **lengths)


def _shrunk(length: int, scale: float, whole: int) -> int:
    """Times `scale`, in multiples of `whole`, at least one."""
    return max(1, round(scale * length / whole)) * whole
