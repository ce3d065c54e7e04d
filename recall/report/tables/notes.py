"""Notes below tables: what the numbers are means of, and what forward transfer compares with."""

from collections.abc import Iterable

import pandas as pd

from recall.analysis.frames import Analysis, list_of
from recall.analysis.labels import left_out
from recall.analysis.references import References, in_words, mismatch
from recall.analysis.run_result import RunResult
from recall.report.paper import published
from recall.report.train_command import reference_command
from recall.runs.wording import few, spanned

_MOST = 6  # names in a note


def budget_notes(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on how many runs, steps and evaluations the numbers are based on."""
    if rows.empty:
        return ()
    runs = rows.groupby(["label", "sequence"])["run"].nunique()
    used = sorted(set(zip(rows.window, rows.evaluations, strict=True)))
    windows = " or ".join(f"{window} of {evaluations}" for window, evaluations in used)
    scored = set(zip(rows.sequence, rows.task, strict=True))
    firsts = rows.drop_duplicates("sequence")["run"]
    silent = (task for run in firsts for task in run.tasks if (run.sequence, task) not in scored)
    notes = (
        f"{spanned(runs)} {'run' if max(runs) == 1 else 'runs'}, {spanned(rows.steps_per_task)} "
        f"steps per task. Values at the end of a stage are means of its last {windows} "
        "evaluations.",
        left_out(silent),
    )
    return tuple(filter(None, notes))


def paper_note() -> str:
    """Return a note on what the paper's numbers are."""
    facts = published()
    return (
        f"(paper): the paper's own numbers, {facts['seeds']} runs of {facts['steps_per_task']:,} "
        "steps per task in the simulator of 2021; settings differ too."
    )


def transfer_facts(analysis: Analysis, rows: pd.DataFrame) -> tuple[str, ...]:
    """Return whether references are shipped ones, what differs in them, and what is left out."""
    rows = rows[rows.groupby(["label", "sequence"])["transfer"].transform("count") > 0]
    notes = []
    compared = list(_compared(analysis, rows[rows.reference < 1.0]))
    if any(found.shipped for _, found in compared):
        notes.append("Forward transfer compares with single-task runs shipped with the package.")
    unlike = (mismatch(run, reference) for run, found in compared for reference in found.runs)
    notes += [
        f"Single-task runs that are compared with have {difference}."
        for difference in dict.fromkeys(in_words(each) for each in unlike if each)
    ]
    if perfect := list_of(rows[rows.reference >= 1.0], "task"):
        notes.append(
            f"Forward transfer leaves out {few(perfect, _MOST)}, where plain SAC leaves nothing to "
            "gain."
        )
    return tuple(notes)


def _compared(analysis: Analysis, rows: pd.DataFrame) -> Iterable[tuple[RunResult, References]]:
    """Yield a run and its references, for each label, sequence and task of some rows."""
    firsts = rows.drop_duplicates(["label", "sequence", "task"])
    for run, task in zip(firsts["run"], firsts["task"], strict=True):
        yield run, analysis.references[run.label, run.sequence, task]


def transfer_advice(analysis: Analysis, rows: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on single-task runs that are refused or missing, and how to train them."""
    rows = rows[rows.area.notna()]
    notes = []
    compared = _compared(analysis, rows)
    refused = list(dict.fromkeys(reason for _, found in compared for reason in found.refused))
    if refused:
        more = f" ({len(refused) - 1} more are refused likewise)" if len(refused) > 1 else ""
        notes.append(f"Not comparable: {refused[0]}{more}.")
    lacking = rows[rows.alone.map(len) == 0]
    commands = {run: reference_command(run, ["TASK"], [0]) for run in list_of(lacking, "run")}
    trained_by = [commands[run] or run.label for run in lacking["run"]]
    for _, part in lacking.groupby(trained_by, sort=False):
        run, tasks = part["run"].iloc[0], list_of(part, "task")
        command = reference_command(run, tasks, sorted(set(part.seed)))
        way_out = f"`{command}` trains them" if command else "Train fine_tuning on each task alone"
        notes.append(
            f"No forward transfer of {'; '.join(list_of(part, 'label'))}: there are no single-task "
            f"runs of {few(tasks, _MOST)} with these settings and {run.steps_per_task:,} steps or "
            f"more. {way_out}; name their folder too, or give it as --reference."
        )
    return tuple(notes)
