"""Say in words what a run computes beside plain SAC: its method says it, from its settings."""

from collections.abc import Sequence

from recall.analysis.departures import METHOD
from recall.analysis.run_result import RunResult
from recall.errors import RecallError
from recall.learn.method import Method
from recall.methods import METHODS
from recall.settings.checked import from_plain

UNKNOWN = "not known"
UNNAMED = "terms that the method does not name"
_LOSSES = ("actor_loss", "critic_loss", "q_loss")
# Every method has these settings, so run.json tells of them even if the method is not known.
_WORK = {
    "normalise_targets": "PopArt updates",
    "average_actor": "average of the actor",
}


def method_of(run: RunResult) -> Method | None:
    """Return the method of a run, or None if this process cannot build it from its settings."""
    if run.method not in METHODS:
        return None
    settings = {
        name.removeprefix(METHOD): value
        for name, value in run.settings.items()
        if name.startswith(METHOD)
    }
    try:
        method: Method = from_plain(METHODS[run.method], settings)
    except RecallError:  # another version of the method wrote them
        return None
    return method


def added_losses(run: RunResult) -> list[str]:
    """Return the terms that a run adds to the losses of SAC, with their weights."""
    method = method_of(run)
    if method is None:
        return [UNKNOWN]
    return method.added_losses() if _names_its_losses(type(method)) else [UNNAMED]


def other_work(run: RunResult) -> list[str]:
    """Return what a run computes besides losses."""
    found = [words for name, words in _WORK.items() if run.settings.get(f"{METHOD}{name}")]
    method = method_of(run)
    found += [UNKNOWN] if method is None else method.other_work()
    if updates := run.settings.get(f"{METHOD}retraining_updates"):
        found.append(f"{updates:,} updates of retraining after each task but the last")
    return found


def unknown_notes(runs: Sequence[RunResult], does: str) -> list[str]:
    """Return a note on the methods that cannot be asked, as in "what it computes"."""
    names = dict.fromkeys(run.method for run in runs if method_of(run) is None)
    if not names:
        return []
    return [
        f"{UNKNOWN.capitalize()}: no method {' or '.join(names)} with the settings of these runs "
        f"is registered. If a plug-in has it, `recall report --plugin` says what it {does}."
    ]


def _names_its_losses(kind: type[Method]) -> bool:
    """Return False if a class changes a loss and inherits the claim that nothing is added."""
    changes = any(getattr(kind, name) is not getattr(Method, name) for name in _LOSSES)
    return not changes or kind.added_losses is not Method.added_losses
