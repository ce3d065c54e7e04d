"""`recall push` and `recall pull`: the command-line interface of recall.push and recall.pull."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from recall.commands.show import Flag

Repo = Annotated[Positional[str], arg(metavar="REPO")]


def push(
    source: Annotated[Positional[Path], arg(metavar="SOURCE")],
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


def pull(
    repo: Repo, out: Annotated[Positional[Path], arg(metavar="OUT")], revision: str | None = None
) -> None:
    """Download an archive from the Hugging Face Hub, once it is checked.

    Args:
        repo: Name of a repository on the Hub, such as me/recall-cw3.
        out: Folder to write the archive to.
        revision: Branch, tag or commit. None: the newest state.
    """
    from recall.commands.archive import tell_end
    from recall.report.hub import pull as pull_archive

    tell_end(pull_archive(repo, out, revision))
