"""`recall compare`: the command-line interface of recall.report.compare."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from recall.commands.report import Mode, Out, Reference, Success, Window, measure_of, tell_end


def compare(
    first: Annotated[Positional[Path], arg(metavar="FIRST", help="Folder of the first runs.")],
    second: Annotated[Positional[Path], arg(metavar="SECOND", help="Folder of the second runs.")],
    out: Out = Path("comparison"),
    reference: Reference = (),
    window: Window = 5,
    mode: Mode = "stochastic",
    success: Success = "any",
    figures: Annotated[bool, arg(help="Whether to draw figures.")] = True,
) -> None:
    """Compare two folders: settings that differ, metrics with intervals, curves on one another."""
    from rich.console import Console

    from recall.files.atomic import writing_to
    from recall.report.compare import compare as make_comparison

    console = Console()
    measure = measure_of(window, mode, success)
    with writing_to(out):
        made = make_comparison(first, second, out, reference, measure, figures, console)
    tell_end(made, console)
