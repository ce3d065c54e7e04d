"""Numbers as the pages show them, and the pages' own."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recall.analysis.bootstrap import Estimate, Sampled, mean_of
from recall.analysis.run_result import RunResult
from recall.analysis.scores import ScoreBoard

Array = np.ndarray
Measured = Callable[..., Any]
ROOT = Path(__file__).parents[3]
SEQUENCES = range(1, 9)
METRICS = ("average_performance", "forgetting", "forward_transfer")
METHODS = {
    "fine_tuning": "Fine-tuning",
    "ewc": "EWC",
    "packnet": "PackNet",
    "clonex": "ClonEx",
    "perfect_memory": "PM",
    "recall": "RECALL",
}
"""The methods in `results/cw3`, in the order of the page's columns, and their labels."""


def row_of(label: str) -> str:
    """The start of the row of a method, whose name the pages write as in a sentence."""
    return {"Fine-tuning": "fine-tuning", "PM": "perfect memory"}.get(label, label)


def section(page: str, title: str) -> str:
    """Return the section of the page under the heading that starts with `title`."""
    (heading,) = re.finditer(rf"^(#+) {title}.*$", page, re.M)
    below = page[heading.end() :]
    return re.split(rf"^#{{1,{len(heading[1])}}} ", below, maxsplit=1, flags=re.M)[0]


def opening(section: str) -> str:
    """Return what stands before the first heading within a section."""
    return re.split(r"^#+ ", section, maxsplit=1, flags=re.M)[0]


def shown(section: str, first: str, cells: slice) -> list[str]:
    """Return cells of the table row whose first cell starts with `first`, without their marks."""
    (row,) = re.findall(rf"^\| {first}.*", section, re.M)
    return [cell.split("[")[0].strip(" *") for cell in row.split("|")[1:-1]][cells]


def marked(section: str, first: str, cells: slice) -> list[bool]:
    """Return whether cells of the table row whose first cell starts with `first` are bold."""
    (row,) = re.findall(rf"^\| {first}.*", section, re.M)
    return ["**" in cell for cell in row.split("|")[1:-1]][cells]


def intervals(text: str, first: str, cells: slice) -> list[str]:
    """Return what stands in brackets in cells of the row whose first cell starts with `first`."""
    (row,) = re.findall(rf"^\| {first}.*", text, re.M)
    return [cell.split("[")[1].split("]")[0] for cell in row.split("|")[1:-1][cells]]


def successes(board: ScoreBoard, method: str, measure: Measured) -> tuple[Array, Array]:
    """Return the tasks of a method's runs and `measure` of them, both [run, position]."""
    runs = of_method(board, method)
    tasks = np.array([run.tasks for run in runs])
    return tasks, np.array([measure(run.curve(), window=2) for run in runs])


def of_method(board: ScoreBoard, method: str) -> list[RunResult]:
    return [run for run in board.collection.runs if run.method == method]


def value(board: ScoreBoard, label: str, number: int, metric: str) -> float:
    return board.get(label, f"cw3-{number}").metric(metric).value


def mean_over_sequences(board: ScoreBoard, label: str, metric: str) -> Sampled:
    return mean_of([board.get(label, f"cw3-{number}").metric(metric) for number in SEQUENCES])


def interval(sampled: Sampled) -> str:
    return ", ".join(rounded(sampled.estimate.interval))


def with_interval(estimate: Estimate) -> str:
    return "{} [{}, {}]".format(*rounded([estimate.value, *estimate.interval]))


def rounded(values: Sequence[float]) -> list[str]:
    return [f"{each:.2f}".replace("-0.00", "0.00") for each in values]
