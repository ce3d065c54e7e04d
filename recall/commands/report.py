"""`recall report`: the command-line interface of recall.make_report."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg


def report(
    folders: Annotated[
        Positional[tuple[Path, ...]],
        arg(
            metavar="DIR",
            help="Folders of runs, or folders that contain them; logs of other code are read too.",
        ),
    ],
    out: Annotated[Path, arg(help="Folder to write tables, figures and the page to.")] = Path(
        "report"
    ),
    reference: Annotated[
        tuple[Path, ...],
        arg(help="Folders of single-task runs to compare with; they are not reported themselves."),
    ] = (),
    window: Annotated[
        int, arg(help="Number of evaluations to average for the success at the end of a task.")
    ] = 5,
    mode: Annotated[
        Literal["stochastic", "deterministic"],
        arg(help="How the policy acted in the evaluations that are reported."),
    ] = "stochastic",
    success: Annotated[
        Literal["any", "last"],
        arg(help="Count success at any step of an episode, or only at its last step."),
    ] = "any",
    figures: Annotated[bool, arg(help="Whether to draw figures.")] = True,
    detailed: Annotated[
        int | None,
        arg(help="Number of sequences per family that get figures of their own. None: all."),
    ] = 2,
) -> None:
    """Make tables, figures and a page from all runs in the given folders."""
    from rich.console import Console

    from recall.files.atomic import writing_to
    from recall.report.build import make_report
    from recall.results.measures import Measure
    from recall.results.wording import counted

    console = Console()
    field = "success" if success == "any" else "last_success"
    measure = Measure(window, mode, field)
    with writing_to(out):
        made = make_report(folders, out, reference, measure, figures, console, detailed)
    found = len(made.problems)
    problems = counted(found, "problem was found", "problems were found")
    console.print(
        f"{counted(len(made.collection.runs), 'run')}, {counted(len(made.tables), 'table')} and "
        f"{counted(len(made.figures), 'figure')} in {made.folder}"
        + (f"; {problems}" if found else ""),
        soft_wrap=True,
    )
