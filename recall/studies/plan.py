"""The division of a study into fleets: those already begun, and new ones that fit the device."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recall.config.spec import FleetSpec, RunSpec
from recall.config.stored import spec_from
from recall.errors import BadValueError
from recall.files.fleet_layout import fleets_below, status
from recall.files.names import file_name
from recall.runs.description import differences, identity, read_description
from recall.runs.fleet_folder import resume_command
from recall.runs.wording import counted
from recall.studies.declared import Variant
from recall.studies.launch.place import Room
from recall.studies.selection import Group
from recall.training.memory import gibibytes, run_bytes


@dataclass(frozen=True)
class Fleet:
    """One fleet of a study, in the folder `name` of the study's folder."""

    name: str
    variant: Variant
    spec: FleetSpec
    bytes_per_run: int

    @property
    def memory_bytes(self) -> int:
        """Return the bytes of memory on all devices together."""
        return len(self.spec.runs) * self.bytes_per_run

    @property
    def transitions(self) -> int:
        """Return the number of transitions that all runs collect together."""
        return len(self.spec.runs) * self.spec.total_steps


@dataclass(frozen=True)
class Shard:
    """The part of a study's fleets that one of several launchers trains: every `count`-th one."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the shard that is written as `i/n`, with i from 1 to n."""
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise BadValueError(f"shard {text!r}: give i/n with i from 1 to n, such as 2/8")
        return cls(int(found[1]), int(found[2]))

    def part(self, fleets: Sequence[Fleet]) -> list[Fleet]:
        """Return the fleets of this shard."""
        return list(fleets[self.number - 1 :: self.count])


WHOLE = Shard()


def plan(
    groups: Sequence[Group],
    folder: Path,
    room: Room,
    planned: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Fleet]:
    """Return fleets for all runs of the groups: begun in `folder`, planned before, and new.

    A fleet that has begun keeps its runs, wherever it is resumed, and so does one that `planned`,
    from study.json, says something about; these come first, in the order of `planned`. The
    remaining runs are divided into as few fleets as memory allows, but at least as many as there
    are places for them.
    """
    planned = planned or {}
    begun = {path.name: spec_from(read_description(path)) for path in fleets_below(folder)}
    taken = {name: set(_keys(spec)) for name, spec in begun.items()}
    several_lengths = len({group.spec.tasks for group in groups}) > 1
    names = {path.name for path in folder.glob("*")} | planned.keys()
    parts_wanted = -(-room.places // max(1, len(groups)))
    fleets = []
    for group in groups:
        size = run_bytes(group.spec)
        title = group.variant.title + (f"-{group.spec.tasks}" if several_lengths else "")
        _check_settings(group.spec, begun, file_name(title), folder)
        wanted = dict(zip(_keys(group.spec), group.spec.runs, strict=True))
        kept = {name: begun[name] for name, keys in taken.items() if keys & wanted.keys()}
        gone = {key for name in kept for key in taken[name]}
        left = {run.name: run for key, run in wanted.items() if key not in gone}
        for name, about in planned.items():
            same = (about["variant"], about["tasks"]) == (group.variant.title, group.spec.tasks)
            if same and name not in begun:
                if not left.keys() >= set(about["runs"]):
                    raise BadValueError(
                        f"{folder / name} is planned with runs that these choices leave out: "
                        "choose the same --seeds, --sequences and --tasks as the other launchers, "
                        "or wait for them to end and remove study.json, which divides what is left"
                    )
                runs = tuple(map(left.pop, about["runs"]))
                kept[name] = dataclasses.replace(group.spec, runs=runs)
        for name, spec in kept.items():
            _check_begun(folder / name, len(spec.runs) * size, room)
            fleets.append(Fleet(name, group.variant, spec, size))
        if not left:
            continue
        if size > room.bytes_per_device:
            raise BadValueError(
                f"one run of {group.variant.title} on {counted(group.spec.tasks, 'task')} needs "
                f"{gibibytes(size)} of device memory, but only {gibibytes(room.bytes_per_device)} "
                "are available; use a smaller --scale, fewer tasks or a memory_per_task"
            )
        for part in split(list(left.values()), room.bytes_per_device // size, parts_wanted, room):
            name = _free_name(file_name(title), names)
            spec = dataclasses.replace(group.spec, runs=tuple(part))
            fleets.append(Fleet(name, group.variant, spec, size))
    order = {name: place for place, name in enumerate(planned)}
    return sorted(fleets, key=lambda fleet: order.get(fleet.name, len(order)))


def split(runs: Sequence[RunSpec], most: int, parts: int, room: Room) -> Iterator[list[RunSpec]]:
    """Split `runs` into at least `parts` parts with at most `most` runs per device.

    Parts are equal but for one. With several devices, the sizes of all parts but the last are a
    multiple of the number of devices, because a fleet uses as many devices as divide its runs.
    """
    most *= room.devices
    if room.runs_per_fleet is not None:
        most = min(most, room.runs_per_fleet)
    # A unit is one run for each device, so every part has the same number of runs on each device.
    unit = min(room.devices, most)
    whole = len(runs) - len(runs) % unit
    units = whole // unit
    count = min(units, max(parts, -(-units // (most // unit))))
    for part in np.array_split(np.arange(units), count) if count else ():
        yield list(runs[part[0] * unit : (part[-1] + 1) * unit])
    if whole < len(runs):
        yield list(runs[whole:])


def _free_name(base: str, names: set[str]) -> str:
    number = 1
    while (name := base if number == 1 else f"{base}-{number}") in names:
        number += 1
    names.add(name)
    return name


def _check_begun(folder: Path, needed: int, room: Room) -> None:
    there = room.devices * room.bytes_per_device
    if needed > there and not status(folder).is_over:
        raise BadValueError(
            f"{folder} was begun with more memory: it needs {gibibytes(needed)}, but only "
            f"{gibibytes(there)} are available. Continue it there, or choose another --out"
        )


def _check_settings(
    spec: FleetSpec, begun: Mapping[str, FleetSpec], title: str, folder: Path
) -> None:
    """Refuse a folder in which this variant was begun when a setting had another default."""
    for name, other in begun.items():
        if name != title and not re.fullmatch(re.escape(title) + r"-\d+", name):
            continue
        for setting, there, wanted in differences(_common(other), _common(spec)):
            raise BadValueError(
                f"{folder / name} was begun with {setting.rpartition('.')[2]} {there}, and this "
                f"version trains with {wanted}: `{resume_command(folder / name)}` continues it as "
                "it was begun, another --out trains with the settings of this version"
            )


def fleets_of_others(groups: Sequence[Group], folder: Path) -> list[str]:
    """Return the names of the fleets in `folder` with a run that none of the groups has."""
    wanted = {key for group in groups for key in _keys(group.spec)}
    begun = {path.name: spec_from(read_description(path)) for path in fleets_below(folder)}
    return [name for name, spec in begun.items() if not wanted.issuperset(_keys(spec))]


def _keys(spec: FleetSpec) -> list[str]:
    """Return a text for each run that determines its results."""
    common = json.dumps(_common(spec), sort_keys=True)
    runs = spec.describe()["runs"]
    return [f"{common} {run['sequence']} {run['tasks']} {run['seed']}" for run in runs]


def _common(spec: FleetSpec) -> dict[str, Any]:
    """Return what determines the results of all runs of a fleet, as JSON holds it."""
    kept = identity(spec.describe())
    return {"method": kept["method"], "settings": kept["settings"]}
