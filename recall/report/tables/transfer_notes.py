"""Say what forward transfer compares with, or why it is left out and how to train what it needs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recall.analysis.departures import PRECISION
from recall.analysis.labels import settings_in_words
from recall.analysis.references import EVALUATE_EVERY, STEPS, mismatch
from recall.analysis.run_result import RunResult
from recall.analysis.scores import Scores
from recall.analysis.together import learnt_together
from recall.report.train_command import reference_command

_ENOUGH = "name their folder too, or give it as --reference"


def transfer_note(scores: Iterable[Scores]) -> tuple[str, ...]:
    """Return notes on single-task runs that are missing, or that cannot be compared."""
    notes: dict[str, None] = {}
    for group in _alike([each for each in scores if not learnt_together(each.method)]):
        notes |= dict.fromkeys(_refused(group))
        notes |= dict.fromkeys(_missing(group))
    return tuple(notes)


def transfer_facts(scores: Iterable[Scores]) -> tuple[str, ...]:
    """Return where shipped references come from, which leave nothing to gain, and what differs."""
    notes: dict[str, None] = {}
    for group in _alike([each for each in scores if each.forward_transfer is not None]):
        notes |= dict.fromkeys([*_shipped(group), *_nothing_to_gain(group), *_unlike(group)])
    return tuple(notes)


def _alike(scores: Sequence[Scores]) -> list[list[Scores]]:
    """Return the scores in groups that need the same single-task runs."""
    groups: dict[str | None, list[Scores]] = {}
    for each in scores:
        key = reference_command(each.runs[0], ["TASK"], [0]) or each.runs[0].source
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _refused(group: Sequence[Scores]) -> list[str]:
    """Return a sentence on the single-task runs that are too different, every reason once."""
    tasks: dict[str, dict[str, None]] = {}
    for each in group:
        for task, found in each.compared.items():
            for reason in found.refused:
                # A reason starts with the task; runs of one study differ for the same reason.
                tasks.setdefault(reason.removeprefix(f"{task} "), {})[task] = None
    if not tasks:
        return []
    reasons = []
    for reason, names in tasks.items():
        first, *others = names
        same = f" ({', '.join(others)} likewise)" if others else ""
        reasons.append(f"{first} {reason}{same}")
    return [f"Not comparable with {_labels(group)}, so left out: {'; '.join(reasons)}."]


def _labels(group: Sequence[Scores]) -> str:
    return ", ".join(dict.fromkeys(each.label for each in group))


def _missing(group: Sequence[Scores]) -> list[str]:
    tasks = dict.fromkeys(task for each in group for task in each.missing_references)
    if not tasks:
        return []
    run = group[0].runs[0]
    start = (
        f"Forward transfer of {_labels(group)} is left out: there is nothing to compare with for "
        f"{', '.join(tasks)}, learnt alone with the same settings in {run.steps_per_task:,} steps, "
        "or in more of which the first were evaluated often enough."
    )
    seeds = sorted({one.seed for each in group for one in each.runs})
    command = reference_command(run, tasks, seeds)
    if command is not None:
        return [f"{start} `{command}` trains single tasks; {_ENOUGH}."]
    if run.source != "recall":
        return [f"{start} Logs of single tasks from the same code are needed; {_ENOUGH}."]
    return [f"{start} Train fine_tuning on each task alone; {_ENOUGH}."]


def _shipped(group: Sequence[Scores]) -> list[str]:
    """Return sentences that say where runs come from that are shipped with the package."""
    tasks: dict[str, dict[str, None]] = {}
    perfect = _perfect(group)
    for each in group:
        for task, found in each.compared.items():
            for run in found.runs if found.shipped and task not in perfect else ():
                tasks.setdefault(_origin(run), {})[task] = None
    return [
        f"Forward transfer of {_labels(group)} compares {', '.join(names)} with single-task runs "
        f"recorded with the package ({origin})."
        for origin, names in tasks.items()
    ]


def _perfect(group: Sequence[Scores]) -> list[str]:
    """Return the tasks whose references succeed from the first evaluation on."""
    found = (
        task for each in group for task, areas in each.references.items() if areas.mean() >= 1.0
    )
    return list(dict.fromkeys(found))


def _nothing_to_gain(group: Sequence[Scores]) -> list[str]:
    if not (tasks := _perfect(group)):
        return []
    verb = "is" if len(tasks) == 1 else "are"
    return [
        f"{', '.join(tasks)} {verb} left out of the forward transfer of {_labels(group)}: plain "
        "SAC leaves nothing to gain there. Means are over the other tasks."
    ]


def _origin(run: RunResult) -> str:
    versions, git = run.description.get("versions"), run.description.get("git")
    words = [f"recall {versions['recall']}"] if versions and "recall" in versions else []
    if isinstance(git, dict) and git.get("commit"):
        words.append(
            f"commit {str(git['commit'])[:8]}{' with changes' if git.get('dirty') else ''}"
        )
    if precision := run.settings.get(PRECISION):
        words.append(f"precision {precision}")
    return ", ".join(words)


def _unlike(group: Sequence[Scores]) -> list[str]:
    """Return sentences on the settings in which single-task runs may and do differ."""
    tasks: dict[str, dict[str, None]] = {}
    perfect = _perfect(group)
    for each in group:
        for task, found in each.compared.items():
            for run in found.runs if task not in perfect else ():
                if unlike := mismatch(each.runs[0], run):
                    tasks.setdefault(_difference(unlike), {})[task] = None
    return [
        f"The single-task runs of {', '.join(names)} have {difference}."
        for difference, names in tasks.items()
    ]


def _difference(unlike: Mapping[str, tuple[Any, Any]]) -> str:
    wanted, there = (
        settings_in_words({name: values[side] for name, values in unlike.items()})
        for side in (0, 1)
    )
    how = [f"{there} and not {wanted}"]
    if STEPS in unlike:
        how.append(f"only their first {unlike[STEPS][0]:,} steps count")
    if unlike.keys() & {STEPS, EVALUATE_EVERY}:
        how.append(
            "their curves are read at the runs' own evaluation steps, by linear interpolation"
        )
    return "; ".join(how)
