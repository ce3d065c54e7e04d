"""The latest success of every run on every task, as texts for a table."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from recall.worlds.task_names import numbered


class Latest:
    """Latest success of runs on their tasks; the return of tasks that do not report success."""

    def __init__(
        self, runs: Sequence[str], tasks: Sequence[Sequence[str]], without_success: Collection[str]
    ):
        """Start without any evaluation of these runs, each with the names of its tasks."""
        self.runs, self.step = runs, 0
        self.labels = [
            here[0] if len(set(here)) == 1 else f"task {position + 1}"
            for position, here in enumerate(zip(*map(numbered, tasks), strict=True))
        ]
        self._values = np.full((len(runs), len(self.labels)), np.nan)
        self._by_return = [set(here) <= set(without_success) for here in zip(*tasks, strict=True)]

    def add(self, step: int, records: Iterable[Mapping[str, Any]]) -> None:
        """Store the evaluation at this step."""
        self.step = step
        for record in (each for each in records if each["mode"] == "stochastic"):
            value = record["return" if self._by_return[record["position"]] else "success"]
            self._values[record["run"], record["position"]] = value

    def clear(self, run: str) -> None:
        """Forget the successes of a run that failed."""
        self._values[self.runs.index(run)] = np.nan

    @property
    def measured(self) -> str:
        """Return what the numbers are."""
        if all(self._by_return):
            return "return"
        return "success or return" if any(self._by_return) else "success"

    def rows(self) -> list[list[str]]:
        """Return the name of every run with its value for every task, last the mean of several."""
        rows = list(zip(self.runs, self._values[:, None], strict=True))
        if len(rows) > 1:
            rows.append(("mean", self._values))
        return [
            [name, *(self._text(position, column) for position, column in enumerate(values.T))]
            for name, values in rows
        ]

    def sentence(self) -> str:
        """Return the means in one line."""
        if not self.step:
            return "no evaluation yet"
        means = ", ".join(map(" ".join, zip(self.labels, self.rows()[-1][1:], strict=True)))
        return f"{self.measured} at step {self.step:,}: {means}"

    def _text(self, position: int, values: np.ndarray) -> str:
        if np.isnan(values).all():
            return "-"
        mean = np.nanmean(values)
        return f"{mean:,.4g}" if self._by_return[position] else f"{100 * mean:.0f}%"
