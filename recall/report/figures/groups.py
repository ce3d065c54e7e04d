"""Group what is drawn together: runs by label within a sequence, sequences by family."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from recall.analysis.collection import Collection
from recall.analysis.families import family_of
from recall.analysis.main_labels import main_labels
from recall.analysis.run_result import RunResult
from recall.analysis.together import learnt_together
from recall.worlds.continual_world import TASKS as NUMBERED_TASKS

PANELS = 12  # most sequences of a family in one figure


@dataclass(frozen=True)
class Group:
    """The runs of one sequence by label, all with the same tasks and steps."""

    sequence: str
    tasks: tuple[str, ...]
    steps_per_task: int
    runs: dict[str, list[RunResult]]

    @property
    def total_steps(self) -> int:
        """Return the number of steps of the whole sequence."""
        return len(self.tasks) * self.steps_per_task

    def stages(self) -> Iterator[tuple[int, int, int]]:
        """Yield (task, first step, last step) of every stage."""
        for task in range(len(self.tasks)):
            yield task, task * self.steps_per_task, (task + 1) * self.steps_per_task

    @property
    def stage_ends(self) -> list[int]:
        """Return the last step of every stage."""
        return [end for _, _, end in self.stages()]

    def only(self, labels: list[str]) -> "Group":
        """Return the group with only these labels."""
        kept = {label: self.runs[label] for label in labels if label in self.runs}
        return Group(self.sequence, self.tasks, self.steps_per_task, kept)

    @property
    def in_words(self) -> str:
        """Return the tasks as text; a repeated sequence is written as such."""
        half = len(self.tasks) // 2
        if half > 1 and self.tasks[:half] == self.tasks[half:]:
            return "2 \N{MULTIPLICATION SIGN} (" + ", ".join(self.tasks[:half]) + ")"
        return " \N{RIGHTWARDS ARROW} ".join(self.tasks)


@dataclass(frozen=True)
class Family:
    """Sequences of one kind, such as the eight triplets."""

    name: str
    groups: list[Group]

    @property
    def labels(self) -> list[str]:
        """Return every label once, in the collection's order."""
        return [label for label in self._order if any(label in g.runs for g in self.groups)]

    _order: tuple[str, ...] = ()

    def only(self, labels: list[str]) -> "Family":
        """Return the family with only these labels and the sequences that have any of them."""
        groups = [group.only(labels) for group in self.groups]
        return Family(self.name, [group for group in groups if group.runs], self._order)


def families(collection: Collection) -> list[Family]:
    """Return the sequences with several tasks, by family, with the runs that can be compared."""
    found: dict[str, list[Group]] = {}
    for sequence, part in collection.sequential.by_sequence().items():
        found.setdefault(family_of(sequence), []).append(_group(sequence, part))
    order = tuple(collection.labels)
    return [Family(name, groups, order) for name, groups in found.items()]


def single_tasks(collection: Collection) -> list[Group]:
    """Return the tasks that were learnt alone, with the runs that can be compared."""
    return [_group(task, part) for task, part in collection.single.by_sequence().items()]


def pair_of(tasks: tuple[str, ...]) -> tuple[int, int] | None:
    """Return the paper's numbers of two Continual World tasks, or None for other tasks."""
    if len(tasks) != 2 or not set(tasks) <= set(NUMBERED_TASKS):
        return None
    return NUMBERED_TASKS.index(tasks[0]), NUMBERED_TASKS.index(tasks[1])


def _group(sequence: str, part: Collection) -> Group:
    """Keep the runs with the most common tasks and steps; the collection reports the others.

    If two are as common, the longer runs are kept, in whatever order they are given.
    """
    shapes = Counter((run.tasks, run.steps_per_task) for run in part.runs)
    tasks, steps = max(shapes, key=lambda shape: (shapes[shape], shape[1]))
    agree = part.where(lambda run: (run.tasks, run.steps_per_task) == (tasks, steps))
    return Group(sequence, tasks, steps, agree.by_label())


def shown_labels(collection: Collection) -> list[str]:
    """Return the labels to draw: the main ones, or all if there is only one method.

    The variants of an only method are what its figures compare. Tables have one for variants.
    """
    runs = collection.sequential.runs
    if len({run.method for run in runs}) == 1:
        return list(dict.fromkeys(run.label for run in runs))
    return main_labels(runs)


def shown_families(collection: Collection, staged: bool = False) -> list[Family]:
    """Return the families with their main labels; `staged` leaves out methods without stages."""
    shown = shown_labels(collection)
    if staged:
        together = {run.label for run in collection.runs if learnt_together(run.method)}
        shown = [label for label in shown if label not in together]
    found = [family.only(shown) for family in families(collection)]
    return [family for family in found if family.groups]
