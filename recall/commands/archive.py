"""`recall archive`: the command-line interface of recall.archive."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from recall.commands.show import Flag

if TYPE_CHECKING:
    from recall.runs.archive import Archive


def archive(
    source: Annotated[Positional[Path], arg(metavar="SOURCE")],
    out: Annotated[Positional[Path], arg(metavar="OUT")],
    policies: tuple[str, ...] = (),
    policies_at: Literal["both", "final", "learned"] = "both",
    unfinished: Flag = False,
) -> None:
    """Copy what is worth keeping of fleets into a small folder that reports and films can read.

    Args:
        source: Folder of a fleet, a study, or a folder that contains fleets.
        out: Folder to write the archive to.
        policies: Runs whose policies are kept: names, or patterns such as 'recall-cw3-*-seed0'.
        policies_at: Which policies: at the end of the sequence, just after learning, or both.
        unfinished: Archive unfinished fleets as far as they are.
    """
    from recall.runs.archive import archive as make_archive

    made = make_archive(source, out, policies, policies_at, unfinished)
    if not policies:
        print(
            "No policies are kept, so the archive cannot be evaluated, filmed or exported: "
            "--policies names the runs whose policies are, '*' all.",
            file=sys.stderr,
        )
    tell_end(made)


def tell_end(made: "Archive") -> None:
    """Print what an archive holds."""
    from recall.runs.wording import counted

    print(
        f"{counted(made.fleets, 'fleet')} of {counted(made.runs, 'run')} and "
        f"{counted(made.policies, 'policy file')}, {made.size_bytes / 1e6:.2f} MB in {made.folder}"
    )
