"""Say why forward transfer is left out, and how to train the runs that it needs."""

from collections.abc import Iterable, Sequence

from recall.report.train_command import reference_command
from recall.results.scores import Scores, learnt_together

_ENOUGH = "name their folder too, or give it as --reference"


def transfer_note(scores: Iterable[Scores]) -> tuple[str, ...]:
    """Return notes on single-task runs that are missing, or that cannot be compared."""
    notes: dict[str, None] = {}
    for group in _alike([each for each in scores if not learnt_together(each.method)]):
        notes |= dict.fromkeys(_refused(group))
        notes |= dict.fromkeys(_missing(group))
    return tuple(notes)


def _alike(scores: Sequence[Scores]) -> list[list[Scores]]:
    """Return the scores in groups that need the same single-task runs."""
    groups: dict[str | None, list[Scores]] = {}
    for each in scores:
        key = reference_command(each.runs[0], ["TASK"], [0]) or each.runs[0].source
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _refused(group: Sequence[Scores]) -> list[str]:
    reasons = dict.fromkeys(reason for each in group for reason in each.refused)
    labels = ", ".join(dict.fromkeys(each.label for each in group))
    if not reasons:
        return []
    return [f"Not comparable with {labels}, so left out: {'; '.join(reasons)}."]


def _missing(group: Sequence[Scores]) -> list[str]:
    tasks = dict.fromkeys(task for each in group for task in each.missing_references)
    if not tasks:
        return []
    run = group[0].runs[0]
    labels = ", ".join(dict.fromkeys(each.label for each in group))
    start = (
        f"Forward transfer of {labels} is left out: there is nothing to compare with for "
        f"{', '.join(tasks)}, learnt alone in {run.steps_per_task:,} steps with the same settings."
    )
    seeds = sorted({one.seed for each in group for one in each.runs})
    command = reference_command(run, tasks, seeds)
    if command is not None:
        return [f"{start} `{command}` trains single tasks; {_ENOUGH}."]
    if run.source != "recall":
        return [f"{start} Logs of single tasks from the same code are needed; {_ENOUGH}."]
    return [f"{start} Train fine_tuning on each task alone; {_ENOUGH}."]
