"""Say in words what a run computes beside plain SAC, from the settings of its method."""

from collections.abc import Sequence
from typing import Any

from recall.analysis.departures import METHOD
from recall.analysis.run_result import RunResult
from recall.errors import RecallError
from recall.learn.method import Method
from recall.methods import METHODS
from recall.methods.recall import Recall
from recall.settings.checked import from_plain

UNKNOWN = "not known"
UNNAMED = "terms that the method does not name"
_LOSSES = ("extra_actor_loss", "extra_critic_loss", "q_loss")
# What a method with `weight`, and perhaps `critic_weight`, adds to the losses.
_TERMS = {
    "ewc": "weight consolidation",
    "l2": "L2 penalty",
    "mas": "synapse penalty",
    "clonex": "behavioural cloning",
    "clear": "behavioural cloning",
    "vcl": "KL to the last posterior",
}
_OTHER_WORK = {
    "ewc": "importance of every weight after each task",
    "mas": "importance of every weight after each task",
    "agem": "projection of gradients",
}
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
    if isinstance(method, Recall):
        return _distillation(method)
    if method.name in _TERMS:
        return _term(_TERMS[method.name], method)
    changes = any(getattr(type(method), name) is not getattr(Method, name) for name in _LOSSES)
    return [UNNAMED] if changes else []


def _term(words: str, method: Any) -> list[str]:
    """Return a term of the actor's loss and the same of the critics'; weight 0 leaves one out."""
    found = [f"{words} (λ {method.weight:g})"] if method.weight else []
    critics = getattr(method, "critic_weight", 0.0)
    return found + ([f"the same of the critics (λ {critics:g})"] if critics else [])


def _distillation(method: Recall) -> list[str]:
    """Return the distillation with its weight, and that of the critics."""
    # New rows have no stored policy, so batches of new rows alone distil nothing.
    if not method.distil or method.sampling == "new":
        return []
    weight = method.distillation_weight
    found = [f"policy distillation (λ {weight:g})"] if weight else []
    # The critics' loss is SAC's with other targets, which leaves out old rows without rehearsal.
    critics = method.distil_critics and method.sampling == "balanced" and method.rehearse
    return found + (["old critics' values as targets"] if critics else [])


def other_work(run: RunResult) -> list[str]:
    """Return what a run computes besides losses."""
    found = [words for name, words in _WORK.items() if run.settings.get(f"{METHOD}{name}")]
    method = method_of(run)
    found += [UNKNOWN] if method is None else [*filter(None, [_OTHER_WORK.get(method.name)])]
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
