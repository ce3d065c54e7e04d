"""Task sequences: those of the paper by name, and any others as `task,task,...`."""

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from recall.errors import BadValueError, UnknownNameError
from recall.worlds.continual_world import TASKS as NUMBERED_TASKS  # 0 to 9 in the paper
from recall.worlds.registry import gymnasium_hint, is_task, task_names, tasks_of, world_of

# Triplets of the paper's appendix A, numbered from 1.
TRIPLETS = (
    ("push", "window-close", "hammer"),
    ("hammer", "window-close", "faucet-close"),
    ("stick-pull", "push-back", "push-wall"),
    ("push-wall", "shelf-place", "push-back"),
    ("faucet-close", "shelf-place", "push-back"),
    ("stick-pull", "peg-unplug-side", "stick-pull"),
    ("window-close", "handle-press-side", "peg-unplug-side"),
    ("faucet-close", "shelf-place", "peg-unplug-side"),
)

_HINT = "A sequence of your own is task names joined by commas, such as hammer,push."


@dataclass(frozen=True)
class Sequence:
    """Tasks in the order in which they are trained. A task may occur more than once."""

    name: str
    tasks: tuple[str, ...]


@cache
def _named() -> MappingProxyType[str, tuple[str, ...]]:
    """Return every named sequence, in the order in which they are listed."""
    triplets = dict(enumerate(TRIPLETS, start=1))
    numbers = range(len(NUMBERED_TASKS))
    named: dict[str, tuple[str, ...]] = {}
    named |= {f"cw3-{number}": tasks for number, tasks in triplets.items()}
    named |= {f"cw6-{number}": 2 * tasks for number, tasks in triplets.items()}
    named |= {"cw10": NUMBERED_TASKS, "cw20": 2 * NUMBERED_TASKS}
    named |= {
        f"pair-{i}-{j}": (NUMBERED_TASKS[i], NUMBERED_TASKS[j]) for i in numbers for j in numbers
    }
    named |= {"pointworld": tasks_of("pointworld")}
    return MappingProxyType(named)


def sequence_names() -> tuple[str, ...]:
    """Return the names that `parse_sequence` knows, besides `task,task,...`."""
    return tuple(_named())


def parse_sequence(name: str) -> Sequence:
    """Return the sequence called `name`, or the one spelt out as `task,task,...`."""
    if name in _named():
        return Sequence(name, _named()[name])
    tasks = tuple(part.strip() for part in name.split(","))
    if "" in tasks:
        raise BadValueError(
            f"sequence {name!r} has an empty task name between two commas or at an end"
        )
    if len(tasks) == 1 and not is_task(tasks[0]):
        hint = gymnasium_hint(name) or _HINT
        raise UnknownNameError("sequence", name, (*sequence_names(), *task_names()), hint)
    for task in tasks:
        world_of(task)
    return Sequence(",".join(tasks), tasks)
