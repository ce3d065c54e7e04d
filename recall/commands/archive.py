"""`recall archive`: the command-line interface of recall.archive."""

import shlex
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from recall.commands.show import Flag


def archive(
    source: Annotated[
        Positional[Path],
        arg(metavar="SOURCE", help="Folder of a fleet, a study, or a folder that contains fleets."),
    ],
    out: Annotated[Positional[Path], arg(metavar="OUT", help="Folder to write the archive to.")],
    policies: Annotated[
        tuple[str, ...],
        arg(help="Runs whose policies are kept: names, or patterns such as 'recall-cw3-*-seed0'."),
    ] = (),
    policies_at: Annotated[
        Literal["both", "final", "learnt"],
        arg(help="Which policies: at the end of the sequence, just after learning, or both."),
    ] = "both",
    training_every: Annotated[
        int | None,
        arg(help="Keep the last training record of every so many steps of a run. None: keep all."),
    ] = None,
    unfinished: Annotated[Flag, arg(help="Archive unfinished fleets as far as they are.")] = False,
    replace: Annotated[Flag, arg(help="Replace an earlier archive in OUT as a whole.")] = False,
) -> None:
    """Copy what is worth keeping of fleets into a small folder that reports and films can read."""
    from recall.runs.archive import archive as make_archive
    from recall.runs.wording import counted

    made = make_archive(source, out, policies, policies_at, training_every, unfinished, replace)
    for sentence in made.left_out:
        print(sentence, file=sys.stderr)
    if not policies and (pattern := _example(source, made.folder)):
        print(
            "No policies were kept, so the archive cannot be evaluated, filmed or exported. To "
            f"keep them, name their runs: --policies {pattern}, or --policies '*' for all.",
            file=sys.stderr,
        )
    print(
        f"{counted(made.fleets, 'fleet')} of {counted(made.runs, 'run')} and "
        f"{counted(made.policies, 'policy file')}, {made.size_bytes / 1e6:.2f} MB in {made.folder}"
    )


def _example(source: Path, archive: Path) -> str:
    """Return a pattern, quoted for a shell, of runs that have policies, or nothing without any."""
    from recall.files.fleet_layout import ARCHIVE_NOTE
    from recall.policies.stored import has_policies
    from recall.runs.store import read_description

    for note in sorted(archive.glob(f"**/{ARCHIVE_NOTE}")):
        fleet = source / note.parent.relative_to(archive)
        description = read_description(fleet)
        for run in description["runs"]:
            if has_policies(fleet, run["name"]):
                pattern = f"{description['method']['name']}-*-seed{run['seed']}"
                fits = fnmatchcase(run["name"], pattern)  # long names are shortened
                return shlex.quote(pattern if fits else run["name"])
    return ""
