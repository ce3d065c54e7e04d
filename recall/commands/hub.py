"""`recall push` and `recall pull`: the command-line interface of recall.push and recall.pull."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from recall.commands.show import Flag

Repo = Annotated[
    Positional[str],
    arg(metavar="REPO", help="Name of a repository on the Hub, such as me/recall-cw3."),
]


def push(
    source: Annotated[
        Positional[Path],
        arg(metavar="SOURCE", help="Folder of a fleet, a study, an archive, or several of them."),
    ],
    repo: Repo,
    policies: Annotated[
        tuple[str, ...] | None,
        arg(help="Runs whose policies are kept, by name or pattern. None: all that there are."),
    ] = None,
    private: Annotated[Flag, arg(help="Make a new repository private.")] = False,
    unfinished: Annotated[Flag, arg(help="Push unfinished fleets as far as they are.")] = False,
) -> None:
    """Upload an archive with a model card to the Hugging Face Hub."""
    from recall.report.hub import push as push_archive

    print(push_archive(source, repo, policies, private, unfinished))


def pull(
    repo: Repo,
    out: Annotated[Positional[Path], arg(metavar="OUT", help="Folder to write the archive to.")],
    revision: Annotated[
        str | None, arg(help="Branch, tag or commit. None: the newest state.")
    ] = None,
) -> None:
    """Download an archive from the Hugging Face Hub, once it is checked."""
    from recall.commands.archive import tell_end
    from recall.report.hub import pull as pull_archive

    tell_end(pull_archive(repo, out, revision))
