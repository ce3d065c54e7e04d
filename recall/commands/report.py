"""`recall report`: a cover of recall.make_report."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg


def report(
    folders: Annotated[
        Positional[tuple[Path, ...]],
        arg(metavar="DIR", help="Runs, or folders with runs below them, others' logs included."),
    ],
    out: Annotated[Path, arg(help="Folder for tables, figures and the page.")] = Path("report"),
    reference: Annotated[
        tuple[Path, ...],
        arg(help="Folders with single tasks, to compare with and not to report."),
    ] = (),
    window: Annotated[
        int, arg(help="Evaluations that success at the end of a task is the mean of.")
    ] = 5,
    mode: Annotated[
        Literal["stochastic", "deterministic"], arg(help="How the policy acted in evaluations.")
    ] = "stochastic",
    success: Annotated[
        Literal["any", "last"], arg(help="At any step of an episode, or at its last step.")
    ] = "any",
    figures: Annotated[bool, arg(help="Draw figures.")] = True,
    detailed: Annotated[
        int | None,
        arg(help="Sequences of a family that have figures of their own. None: all of them."),
    ] = 2,
) -> None:
    """Tables, figures and a page of all runs below some folders."""
    from rich.console import Console

    from recall.report.build import make_report
    from recall.results.scores import Measure

    console = Console()
    field = "success" if success == "any" else "last_success"
    measure = Measure(window, mode, field)
    made = make_report(folders, out, reference, measure, figures, console, detailed)
    runs, problems = len(made.collection.runs), len(made.problems)
    console.print(
        f"{runs} runs, {len(made.tables)} tables and {len(made.figures)} figures in {made.folder}"
        + (f"; {problems} things were wrong or left out" if problems else ""),
        soft_wrap=True,
    )
