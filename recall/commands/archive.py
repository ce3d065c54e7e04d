"""`recall archive`, `push` and `pull`: the command-line interface of the functions of recall."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from recall.commands.show import Flag, tell

if TYPE_CHECKING:
    from recall.runs.archive import Archive


Source = Annotated[Positional[Path], arg(metavar="SOURCE")]
Out = Annotated[Positional[Path], arg(metavar="OUT")]
Repo = Annotated[Positional[str], arg(metavar="REPO")]


def archive(
    source: Source,
    out: Out,
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
        tell(
            "No policies are kept, so the archive cannot be evaluated, filmed or exported: "
            "--policies names the runs whose policies are, '*' all."
        )
    _tell_end(made)


def _tell_end(made: "Archive") -> None:
    """Print what an archive holds."""
    from recall.runs.wording import counted

    print(
        f"{counted(made.fleets, 'fleet')} of {counted(made.runs, 'run')} and "
        f"{counted(made.policies, 'policy file')}, {made.size_bytes / 1e6:.2f} MB in {made.folder}"
    )


def push(
    source: Source,
    repo: Repo,
    policies: tuple[str, ...] | None = None,
    private: Flag = False,
    unfinished: Flag = False,
) -> None:
    """Upload an archive with a model card to the Hugging Face Hub.

    Args:
        source: Folder of a fleet, a study, an archive, or several of them.
        repo: Name of a repository on the Hub, such as me/recall-cw3.
        policies: Runs whose policies are kept, by name or pattern. None: all that there are.
        private: Make a new repository private.
        unfinished: Push unfinished fleets as far as they are.
    """
    from recall.report.hub import push as push_archive

    print(push_archive(source, repo, policies, private, unfinished))


def pull(repo: Repo, out: Out, revision: str | None = None) -> None:
    """Download an archive from the Hugging Face Hub, once it is checked.

    Args:
        repo: Name of a repository on the Hub, such as me/recall-cw3.
        out: Folder to write the archive to.
        revision: Branch, tag or commit. None: the newest state.
    """
    from recall.report.hub import pull as pull_archive

    _tell_end(pull_archive(repo, out, revision))
