"""Why there are no policies that a film could show, or those of one time only."""

from collections.abc import Collection, Sequence
from pathlib import Path

from recall.files.fleet_layout import FINAL, POLICIES, is_archive, learnt, policy_path, status
from recall.runs.fleet_folder import failures_in
from recall.runs.policies import no_policies

_KINDS = {"before": "policies of tasks just learnt", "after": "final policies"}
_OTHER = {"before": "after", "after": "before"}


def nothing_to_film(folder: Path, run: str, tasks: Sequence[str], when: str) -> str:
    """Return why a run has none of the policies that were asked for with `when`.

    `tasks` are the names of all tasks of the run, in the order of its sequence.
    """
    over = [
        task
        for position, task in enumerate(tasks)
        if policy_path(folder, run, learnt(position)).exists()
    ]
    there = {"before": bool(over), "after": policy_path(folder, run, FINAL).exists()}
    if not any(there.values()):
        return _no_policies(folder, run)
    if when in _OTHER and not there[when]:
        return _no_policies_at(folder, run, over, when)
    if status(folder).is_over:
        return f"{folder} is finished, but some policies of {run} are missing: {_restore(run)}"
    return f"{folder} has policies of {run} for {', '.join(over)} alone: the rest comes later"


def one_sided(folder: Path, run: str, times: Collection[str]) -> str | None:
    """Return why a film of both times shows only one of them; None if it shows both."""
    lacking = next((when for when in _KINDS if when not in times), None)
    if lacking is None:
        return None
    if is_archive(folder):
        why = f"only the {_KINDS[_OTHER[lacking]]} of {run} were kept in this archive"
    elif not status(folder).is_over:
        why = f"{run} is not finished"
    else:
        why = f"they are missing: {_restore(run)}"
    return f"the film lacks the {_KINDS[lacking]}: {why}"


def _no_policies(folder: Path, run: str) -> str:
    if is_archive(folder):
        return no_policies(folder, f"policies of {run}")
    if not status(folder).is_over:
        return f"{folder} has no policies of {run} yet: no task is over"
    if failed := failures_in(folder):
        return f"{folder} has no policies of {run}: {failed}"
    return f"{folder} is finished, but its policies of {run} are missing: {_restore(run)}"


def _no_policies_at(folder: Path, run: str, over: Sequence[str], when: str) -> str:
    other = _OTHER[when]
    hint = f'`--when {other}` (in Python, when="{other}")'
    if when == "after" and not status(folder).is_over:
        return (
            f"{folder} has no policies from the end of {run}: it is not finished. {hint} films the "
            f"tasks that are over: {', '.join(over)}"
        )
    if is_archive(folder):
        return f"only the {_KINDS[other]} of {run} were kept in {folder}: {hint} films them"
    return (
        f"the {_KINDS[when]} of {run} are missing in {folder}: {_restore(run)}. {hint} films the "
        f"{_KINDS[other]}"
    )


def _restore(run: str) -> str:
    return f"restore {POLICIES}/{run} from a copy"
