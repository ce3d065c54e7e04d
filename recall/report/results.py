"""What a fleet left, as Python and notebooks see it: its records, metrics, figures and films."""

import html
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from recall.errors import BadValueError
from recall.files.paths import given_path
from recall.runs.description import WITHOUT_SUCCESS
from recall.runs.evaluations import usable
from recall.runs.fleet_folder import summary
from recall.runs.latest import Latest
from recall.runs.store import Records, read
from recall.worlds.registry import Task

# pandas, matplotlib and renderers are imported at first use: programs that train need none.
if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from recall.filming.film import Film
    from recall.report.build import Report


@dataclass(frozen=True, repr=False)
class Results(Records):
    """The records of a fleet, and what is made of them. `print(results)` shows how it went."""

    functions: Mapping[str, Task] = field(default_factory=dict)
    """The tasks that are functions, by name."""

    def frame(
        self, table: Literal["evaluations", "stages", "runs"] = "evaluations"
    ) -> "pd.DataFrame":
        """Return every evaluation, stage or run as a pandas DataFrame (`recall.frame`)."""
        from recall.analysis.frames import frame

        return frame(self.folder, table)

    def metrics(self) -> "pd.DataFrame":
        """Return average performance, forgetting and forward transfer, with a row for each run.

        Values are NaN if a run has only one task or is not finished. Forward transfer compares with
        the single-task runs that the package brings, if they have the run's settings.
        """
        from recall.analysis.metrics import METRICS

        return self.frame("runs").reindex(columns=["run", *METRICS]).set_index("run")

    def plot(self, kind: str = "task_curves") -> "Figure":
        """Return a figure of a report, by default the success on every task over steps.

        Where a report has several of this kind, such as one for each sequence, it is the first.
        """
        from recall.analysis.collection import gather
        from recall.report.figures import Scene, Skipped, all_figures

        collection = gather([self.folder])
        if not collection.runs:
            raise BadValueError(f"there is nothing to plot: {' '.join(collection.problems)}")
        for found in all_figures(Scene(collection), [kind]):
            if not isinstance(found, Skipped):
                # Notebooks show figures by themselves only after `%matplotlib inline`.
                vars(found.figure)["_repr_png_"] = partial(_png, found.figure)
                return found.figure
            reason = found.reason
        raise BadValueError(f"there is no figure {kind!r} of {self.folder}: {reason}")

    def film(self, out: str | Path | None = None, **options: Any) -> "Film":
        """Film the trained policies; `options` are those of `recall.film`."""
        from recall.filming.film import film

        return film(self.folder, out=out, functions=self.functions, **options)

    def report(self, out: str | Path = "report", **options: Any) -> "Report":
        """Write tables, figures and a page; `options` are those of `recall.make_report`."""
        from recall.report.build import make_report

        return make_report(self.folder, out, **options)

    def __repr__(self) -> str:
        return f"{self._title()}\n{self._latest().sentence()}"

    def _repr_html_(self) -> str:
        import pandas as pd

        latest = self._latest()
        columns = [f"{latest.measured} at step {latest.step:,}", *latest.labels]
        table = pd.DataFrame(latest.rows(), columns=columns).to_html(index=False, border=0)
        return f"<p>{html.escape(self._title())}</p>{table}"

    def _title(self) -> str:
        state = "unfinished"
        if self.outcome is not None:
            state = "finished" if self.outcome.finished else "every run failed"
            failed = self.outcome.failed.items() if self.outcome.finished else ()
            state += "".join(f", {name} failed at step {step:,}" for name, step in failed)
        return f"{summary(self.description)}: {state}, in {self.folder}"

    def _latest(self) -> Latest:
        """Return the success at the last evaluation."""
        tasks = [run["tasks"] for run in self.runs]
        silent = self.description.get(WITHOUT_SUCCESS, ())
        latest = Latest([run["name"] for run in self.runs], tasks, silent)
        records = usable(self.evaluations, tasks)
        step = max((record["step"] for record in records), default=0)
        latest.add(step, [record for record in records if record["step"] == step])
        return latest


def _png(figure: "Figure") -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return file.getvalue()


def load_results(folder: str | Path, functions: Mapping[str, Task] | None = None) -> Results:
    """Return the results of a fleet, finished or not, or of an archived fleet.

    If it was started with functions as tasks, `functions` maps their names to them; only films
    need them.
    """
    return Results(**vars(read(given_path(folder, "folder"))), functions=functions or {})
