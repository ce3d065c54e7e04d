"""Group what is drawn together: runs by label within a sequence, sequences by family."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recall.analysis.collection import Collection
from recall.analysis.families import family_of, left_out
from recall.analysis.labels import main_labels
from recall.analysis.run_result import RunResult, is_multi_task

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

    @property
    def every_run(self) -> list[RunResult]:
        """Return the runs of all labels."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def in_words(self) -> str:
        """Return the tasks as text; a repeated sequence is written as such."""
        half = len(self.tasks) // 2
        if half > 1 and self.tasks[:half] == self.tasks[half:]:
            return "2 \N{MULTIPLICATION SIGN} (" + ", ".join(self.tasks[:half]) + ")"
        return " \N{RIGHTWARDS ARROW} ".join(self.tasks)


@dataclass(frozen=True)
class Family:
    """Sequences of one kind, such as the eight triplets, and the labels that have any of them."""

    name: str
    groups: list[Group]
    labels: list[str]


def families(collection: Collection, labels: Sequence[str] | None = None) -> list[Family]:
    """Return the sequences with several tasks, by family, with the runs that can be compared."""
    order = collection.labels if labels is None else labels
    found: dict[str, list[Group]] = {}
    for sequence, part in collection.sequential.by_sequence().items():
        group = group_of(sequence, part, order)
        if group.runs:
            found.setdefault(family_of(sequence), []).append(group)
    return [
        Family(name, groups, [label for label in order if any(label in g.runs for g in groups)])
        for name, groups in found.items()
    ]


def group_of(sequence: str, part: Collection, order: Iterable[str]) -> Group:
    """Return the runs with the most common tasks and steps; the collection reports the others.

    If two are as common, the longer runs are kept, in whatever order they are given.
    """
    shapes = Counter((run.tasks, run.steps_per_task) for run in part.runs)
    tasks, steps = max(shapes, key=lambda shape: (shapes[shape], shape[1]))
    agree = part.where(lambda run: (run.tasks, run.steps_per_task) == (tasks, steps)).by_label()
    return Group(sequence, tasks, steps, {label: agree[label] for label in order if label in agree})


def shown_labels(collection: Collection, staged: bool = False) -> list[str]:
    """Return the labels to draw: the main ones, or all if there is only one method.

    The variants of an only method are what its figures compare. Tables have one for variants.
    `staged` leaves out methods that train all tasks at once.
    """
    runs = collection.sequential.runs
    if len({run.method for run in runs}) == 1:
        shown = list(dict.fromkeys(run.label for run in runs))
    else:
        shown = main_labels(runs)
    together = {run.label for run in runs if staged and is_multi_task(run.method)}
    return [label for label in shown if label not in together]


def shown_families(collection: Collection, staged: bool = False) -> list[Family]:
    """Return the families with their main labels; `staged` leaves out methods without stages."""
    return families(collection, shown_labels(collection, staged))


def silence(groups: Iterable[Group]) -> str:
    """Return a sentence on the tasks that do not report success, if there are any."""
    return left_out(
        task for group in groups for run in group.every_run for task in run.without_success
    )
