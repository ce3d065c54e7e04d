"""Build the table that says which old head each new task was explored with, and how often."""

from collections import Counter

from recall.analysis.main_labels import main_labels
from recall.analysis.run_result import RunResult
from recall.analysis.scores import ScoreBoard, Scores
from recall.report.tables.table import Cell, Row, Table

_BEST_RETURN = "method.best_return"
_FIRST_CHOICE = 2  # the first position with two old heads to choose from


def exploration_table(board: ScoreBoard) -> list[Table]:
    """Return how often best-return exploration chose each old head; empty without such runs."""
    labels = main_labels([run for each in board.scores.values() for run in each.runs])
    rows, choosing = [], [label for label in labels if _chooses(board, label)]
    for sequence in board.sequences:
        scores = [board.get(label, sequence) for label in choosing]
        tasks = next((each.sequence_tasks for each in scores if each is not None), ())
        for position in range(_FIRST_CHOICE, len(tasks)):
            cells = tuple(_chosen(each, position) for each in scores)
            if any(cell.text for cell in cells):
                rows.append(Row(f"{sequence}: {position + 1} {tasks[position]}", cells))
    if not rows:
        return []
    return [
        Table(
            name="exploration",
            title="Old heads that explored new tasks, and how many runs chose each",
            corner="new task",
            columns=tuple(choosing),
            rows=tuple(rows),
            notes=(
                "At the start of a task, old heads take turns with random actions. The policy of "
                "the one with the highest return is copied, if it earned more than these. Second "
                "tasks are left out: they have only one old head.",
            ),
            detail=True,
        )
    ]


def _chooses(board: ScoreBoard, label: str) -> bool:
    return any(
        run.settings.get(_BEST_RETURN)
        for (name, _), scores in board.scores.items()
        if name == label
        for run in scores.runs
    )


def _chosen(scores: Scores | None, position: int) -> Cell:
    """Return the old tasks whose heads were chosen at this position, the most frequent first."""
    if scores is None:
        return Cell()
    counts = Counter(head for run in scores.runs if (head := _best_head(run, position)) is not None)
    none = counts.pop(-1, 0)
    names = Counter(scores.sequence_tasks[head] for head in counts)
    named = [
        f"{task} (task {head + 1}) {count}" if names[task] > 1 else f"{task} {count}"
        for head, count in counts.most_common()
        for task in [scores.sequence_tasks[head]]
    ]
    named += [f"none {none}"] if none else []
    return Cell(text=", ".join(named)) if named else Cell()


def _best_head(run: RunResult, position: int) -> int | None:
    """Return the head that a run copied at the start of the task at `position`; -1: none."""
    for choice in run.head_choices:
        head = choice.get("best_head")
        if choice.get("position") == position and isinstance(head, int) and -1 <= head < position:
            return head
    return None
