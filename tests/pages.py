"""Write the tables of pages from the records: `python -m tests.pages` (`make pages`).

In a page, `<!-- table: results/cw3 cw3 -->` stands above the table `cw3` of
`recall report results/cw3`, `<!-- table: reached -->` above one of `OWN`, and
`<!-- end of table -->` below it. What lies between is generated.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from recall.analysis import metrics
from recall.analysis.collection import gather
from recall.analysis.estimates import estimate
from recall.analysis.frames import Analysis, analyse, list_of, select
from recall.analysis.metrics import METRICS, TITLES
from recall.report import paper
from recall.report.tables import all_tables
from recall.report.tables.table import Table, estimate_text, number_text
from recall.report.tables.writers import markdown_grid

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/results.md", "docs/results-appendix.md", "docs/learning.md")
_TABLE = re.compile(r"(<!-- table: (\S+)(?: (\S+))? -->\n).*?(<!-- end of table -->)", re.DOTALL)
NAMES = {"RECALL": "RECALL, before", "PM": "Perfect memory"}
ROOM = 0.4
"""Share of the area that plain SAC leaves to gain on tasks with room."""


@cache
def _analysis(folder: str) -> Analysis:
    return analyse(gather(ROOT / folder, ROOT / "results/reference"))


@cache
def _tables(folder: str) -> dict[str, Table]:
    return {table.name: table for table in all_tables(_analysis(folder))}


def _grid(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads), *map(list, rows)]
    lines.insert(1, ["---", *["---:"] * (len(lines[0]) - 1)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _mean(values: "pd.Series[float]", decimals: int = 2) -> str:
    return "" if values.isna().any() else number_text(values.mean(), decimals)


def _arrow(rows: pd.DataFrame) -> str:
    return f"{_mean(rows.trained)} → {_mean(rows.final)}"


def _groups(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {label: select(scores, label=label) for label in list_of(scores, "label")}


def reached() -> str:
    """Return average performance on CW3 beside the paper's."""
    today = _analysis("results/cw3-n-step").scores
    groups = _groups(_analysis("results/cw3").scores)
    shown = [
        ("**RECALL**, today's learner", f"**{_mean(today.final)}**", "recall"),
        *(
            (NAMES.get(label, label), _mean(rows.final), method)
            for label, rows in sorted(groups.items(), key=lambda each: -each[1].final.mean())
            for method in list_of(rows, "method")
        ),
    ]
    rows = (
        (name, ours, estimate_text(paper.over_family("cw3", METRICS[0], method)))
        for name, ours, method in shown
    )
    return _grid(["method", "300,000 steps per task", "paper, 1,000,000 steps"], rows)


def by_sequence() -> str:
    """Return RECALL on CW3 at 1,000,000 steps, sequence by sequence."""
    rows = []
    scores = _analysis("results/cw3-1m").scores
    for sequence, part in scores.groupby("sequence"):
        theirs = paper.on_sequence(str(sequence), METRICS[0], "recall")
        rows.append(
            (
                f"{sequence}: {', '.join(part.task)}",
                _mean(part.final),
                _mean(part.forgotten),
                number_text(theirs.value) if theirs else "",
                ", ".join(number_text(value, 1) for value in part.final),
            )
        )
    mean = paper.over_family("cw3", METRICS[0], "recall")
    rows.append(
        ("mean", f"**{_mean(scores.final)}**", _mean(scores.forgotten), estimate_text(mean), "")
    )
    return _grid(["sequence", "RECALL", "forgetting", "paper", "each task at the end"], rows)


def learned_and_kept() -> str:
    """Return the success on each task of CW3 when just learned and at the end."""
    scores = _analysis("results/cw3").scores
    groups = _groups(scores)
    runs = len(scores) // len(groups)
    rows = [
        (str(task), str(len(part) // len(groups)), *map(_arrow, _groups(part).values()))
        for task, part in scores.groupby("task")
    ]
    rows.append(("all", str(runs), *map(_arrow, groups.values())))
    return _grid(["task", "times", *groups], rows)


def transfer_by_place() -> str:
    """Return forward transfer on first tasks, later tasks, and later tasks with room."""
    rows = []
    for label, part in _groups(_analysis("results/cw3").scores).items():
        later = part[part.position > 0]
        found = (part[part.position == 0], later, later[later.reference < 1 - ROOM])
        rows.append((label, *(_mean(each.transfer.dropna()) for each in found)))
    return _grid(["method", "first tasks", "later tasks", "later tasks with room"], rows)


def cw10_by_task() -> str:
    """Return success on, and transfer to, each task of CW10."""
    scores = _analysis("results/cw10").scores
    groups = _groups(scores)
    rows = [
        (
            f"{position + 1} {part.task.iloc[0]}",
            *map(_arrow, _groups(part).values()),
            *(_mean(each.transfer) for each in _groups(part).values()),
        )
        for position, part in scores.groupby("position")
    ]
    transfers = (_mean(part.transfer.dropna()) for part in groups.values())
    rows.append(("all", *map(_arrow, groups.values()), *transfers))
    first, *others = groups
    return _grid(["task", *groups, f"transfer: {first}", *others], rows)


def old_tasks() -> str:
    """Return RECALL with at most four and at most three old tasks in an update."""
    rows = []
    for sequence, folder in (("cw10", "cw10"), ("cw6-1", "ablation"), ("cw6-2", "ablation")):
        for count, place in (("four", folder), ("three", f"{folder}-three")):
            scores = select(_analysis(f"results/{place}").scores, sequence=sequence)
            part = next(each for name, each in _groups(scores).items() if name.startswith("RECALL"))
            means = (estimate(part, metric) for metric in METRICS)
            rows.append(
                (f"{sequence}, {count}", *(estimate_text(mean and mean.estimate) for mean in means))
            )
    return _grid(["sequence, old tasks", *(TITLES[metric] for metric in METRICS)], rows)


def by_seed() -> str:
    """Return the last evaluation of each task on CW3 with today's learner, seed by seed."""
    analysis, rows = _analysis("results/cw3-n-step"), []
    for sequence, part in analysis.collection.by_sequence().items():
        ends = [run.curve().success[-1] for run in part.runs]
        tasks = ", ".join(part.runs[0].tasks)
        values = (" ".join(number_text(value, 1) for value in end) for end in ends)
        rows.append((f"{sequence.removeprefix('cw3-')}: {tasks}", ", ".join(values)))
    scores = analysis.scores
    places = ", ".join(_mean(part.final) for _, part in scores.groupby("position"))
    total = f"**{_mean(scores.final)}** (first, second, third tasks {places})"
    return _grid(
        ["sequence", "seeds 401, 402 and 403"], [*rows, ("**average performance**", total)]
    )


def noise() -> str:
    """Return the success on six tasks alone after random actions of three colours."""
    ends: dict[str, dict[str, list[float]]] = {}
    colours = ("white", "pink", "red")
    for colour in colours:
        for run in gather(ROOT / f"results/exploration-150k/alone-{colour}").runs:
            end = float(metrics.final_successes(run.curve())[0])
            ends.setdefault(run.sequence, {}).setdefault(colour, []).append(end)
    rows = [
        (task, *(", ".join(number_text(end, 1) for end in found[colour]) for colour in colours))
        for task, found in ends.items()
    ]
    means = (
        pd.Series([end for found in ends.values() for end in found[colour]]) for colour in colours
    )
    return _grid(["task", *colours], [*rows, ("mean", *map(_mean, means))])


OWN: dict[str, Callable[[], str]] = {
    "reached": reached,
    "by-sequence": by_sequence,
    "learned-and-kept": learned_and_kept,
    "transfer-by-place": transfer_by_place,
    "cw10-by-task": cw10_by_task,
    "old-tasks": old_tasks,
    "by-seed": by_seed,
    "noise": noise,
}


def with_tables(page: str) -> str:
    """Return the text of a page with its tables as the records have them now."""

    def written(found: re.Match[str]) -> str:
        start, folder, name, end = found.groups()
        table = markdown_grid(_tables(folder)[name]) if name else OWN[folder]()
        return f"{start}\n{table}\n{end}"

    return _TABLE.sub(written, page)


def main() -> None:
    """Write every page again."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_tables(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
