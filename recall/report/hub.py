"""Archives on the Hugging Face Hub: pushed with a model card, and pulled as folders of others.

What was pulled is archived once more, so that it is checked as any folder is.
"""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recall.analysis.collection import gather
from recall.analysis.frames import Analysis, analyse
from recall.analysis.run_result import RunResult
from recall.errors import RecallError, required
from recall.files.atomic import write_text
from recall.files.fleet_layout import (
    ARCHIVE_NOTE,
    DESCRIPTION,
    FILMS,
    OUTCOME,
    POLICIES,
    POLICY_SUFFIX,
    STUDY,
)
from recall.files.paths import check_contained, given_path, is_inside
from recall.files.reading import XZ
from recall.report import summary
from recall.report.figures import draw_all
from recall.report.page import origin
from recall.report.tables import all_tables
from recall.report.tables.protocols import protocol_tables
from recall.report.tables.writers import markdown
from recall.report.train_command import train_commands
from recall.runs.archive import Archive, Folder, archive

CARD = "README.md"
_KIND = "reinforcement-learning"
_FILES = [f"*{end}" for end in (DESCRIPTION, OUTCOME, ARCHIVE_NOTE, STUDY, XZ, POLICY_SUFFIX)]
_FIGURES = ("average_success", "task_curves")
_FILM = "replay"  # the Hub plays replay.mp4 above the card
_FILM_KINDS = (".mp4", ".gif", ".png")


def push(
    source: Folder,
    repo: str,
    policies: Sequence[str] | str | None = None,
    private: bool = False,
    unfinished: bool = False,
) -> str:
    """Upload an archive of fleets with a model card to the Hugging Face Hub; return its address.

    An archive that was pushed there before is replaced; other files stay.

    Args:
        source: Folder of a fleet, or of several, archived or not.
        repo: Name of the repository, such as "me/recall-cw3"; it is created if there is none.
        policies: The runs whose policies are kept, as in `recall.archive`. None: all there are.
        private: Whether a new repository is private.
        unfinished: Whether unfinished fleets are pushed too.
    """
    hub = required("huggingface_hub", "push")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "archive")
        stage(source, folder, repo, policies, unfinished)
        with _explained(repo):
            api = hub.HfApi()
            address = api.create_repo(repo, private=private, exist_ok=True)
            api.upload_folder(
                repo_id=repo,
                folder_path=folder,
                delete_patterns=_FILES,  # of an earlier archive
                commit_message="recall push",
            )
    return str(address)


def pull(repo: str, out: Folder, revision: str | None = None) -> Archive:
    """Download an archive from the Hugging Face Hub into `out`, once it is checked.

    Args:
        repo: Name of the repository, such as "me/recall-cw3".
        out: Folder of the archive, which must not hold anything.
        revision: A branch, tag or commit. None: the newest.
    """
    hub = required("huggingface_hub", "pull")
    with tempfile.TemporaryDirectory() as place:
        with _explained(repo):
            hub.snapshot_download(repo, revision=revision, local_dir=place, allow_patterns=_FILES)
        check_contained(Path(place))
        return archive(place, out, _all_policies(Path(place)), unfinished=True)


@contextlib.contextmanager
def _explained(repo: str) -> Iterator[None]:
    """Turn an error of the Hub, its library or the network, which share no class, into ours."""
    try:
        yield
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise RecallError(
            f"{repo}: {type(error).__name__}: {reason}. Check the name, the network, and with "
            "`hf auth whoami` who you are there"
        ) from error


def _all_policies(folder: Path) -> tuple[str, ...]:
    return ("*",) if any(folder.rglob(f"{POLICIES}/*/*{POLICY_SUFFIX}")) else ()


def stage(
    source: Folder,
    folder: Path,
    repo: str,
    policies: Sequence[str] | str | None = None,
    unfinished: bool = False,
) -> None:
    """Write what `push` uploads into a new folder: the archive, a card, figures and one film."""
    source = given_path(source, "source")
    kept = _all_policies(source) if policies is None else policies
    archive(source, folder, kept, unfinished=unfinished)
    analysis = analyse(gather(folder))
    gallery = draw_all(analysis.collection, folder / "figures", None, _FIGURES, ["png"], detailed=1)
    pictures = {drawn.caption: drawn.paths["png"] for drawn in gallery}
    runs = analysis.collection.runs
    fleets = dict.fromkeys(source / run.folder.relative_to(folder) for run in runs)
    for film in (path for fleet in fleets for path in sorted((fleet / FILMS).glob("[!.]*"))):
        if film.suffix in _FILM_KINDS and film.is_file() and is_inside(film, source):
            copy = folder / f"{_FILM}{film.suffix}"
            shutil.copyfile(film, copy)
            pictures = {film.stem: copy} | pictures
            break
    shown = {text: path.relative_to(folder).as_posix() for text, path in pictures.items()}
    write_text(folder / CARD, card(analysis, repo, shown))


def card(analysis: Analysis, repo: str, pictures: dict[str, str]) -> str:
    """Return the model card of an archive; `pictures` are paths by their captions."""
    runs = analysis.collection.runs
    descriptions = {run.folder: run.description for run in runs}.values()
    commands = dict.fromkeys(text for each in descriptions for text in train_commands(each))
    tables = protocol_tables(analysis, origin=False) or all_tables(analysis)
    # JSON is YAML too.
    header = [f"{name}: {json.dumps(value)}" for name, value in _metadata(runs).items()]
    parts = [
        "\n".join(["---", *header, "---"]),
        f"# {repo.rpartition('/')[2]}",
        f"{summary.scope(analysis.collection)} `recall pull {repo} FOLDER` checks them and writes "
        "an archive, which `recall report`, `evaluate`, `film` and `load_policy` read.",
        *(f"![{text}]({path})\n\n*{text}*" for text, path in pictures.items()),
        "## Results",
        *(markdown(replace(table, advice=())) for table in tables),
        summary.measured(analysis.measure),
        "## Settings",
        "`run.json` holds all settings. These commands train the runs again:",
        *(f"```console\n$ {text}\n```" for text in commands),
        origin(),
    ]
    return "\n\n".join(parts) + "\n"


def _metadata(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Return what the Hub itself reads of a card."""
    tags = [*(run.method for run in runs), *(task for run in runs for task in run.tasks)]
    return {
        "library_name": "recall-rl",
        "pipeline_tag": _KIND,
        "tags": [_KIND, "continual-learning", *dict.fromkeys(tags)],
    }
