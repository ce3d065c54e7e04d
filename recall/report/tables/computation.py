"""Say in words what a run computes beside plain SAC, from its settings."""

from typing import Any

from recall.results.run_result import RunResult

_ANCHORED = {"ewc": "weight consolidation", "l2": "L2 penalty", "mas": "synapse penalty"}
_MEASURED = ("ewc", "mas")  # methods that measure how important a weight is
_CLONED = {"clonex": "behavioural cloning", "clear": "behavioural cloning"}


def _setting(run: RunResult, name: str) -> Any:
    return run.settings.get(f"method.{name}")


def added_losses(run: RunResult) -> list[str]:
    """Return the terms that a run adds to the losses of SAC, with their weights."""
    found = []
    weight, critics = _setting(run, "weight"), _setting(run, "critic_weight")
    term = (_ANCHORED | _CLONED | {"vcl": "KL to the last posterior"}).get(run.method)
    if term and weight:
        found.append(f"{term} (λ {weight:g})")
    if term and critics:
        found.append(f"the same of the critics (λ {critics:g})")
    # As in recall.methods.recall: batches of new rows alone hold no stored policy, and critics are
    # distilled on the old half of a balanced batch only.
    distils, sampling = _setting(run, "distil"), _setting(run, "sampling")
    if distils and _setting(run, "distillation_weight") and sampling != "new":
        found.append(f"policy distillation (λ {_setting(run, 'distillation_weight'):g})")
    if distils and _setting(run, "distil_critics") and sampling == "balanced":
        found.append("old critics' values as targets")
    return found


def other_work(run: RunResult) -> list[str]:
    """Return what a run computes besides losses."""
    found = []
    if _setting(run, "normalise_targets"):
        found.append("PopArt updates")
    if _setting(run, "best_return"):
        found.append("scoring of old heads")
    if _setting(run, "average_actor"):
        found.append("average of the actor")
    if run.method in _MEASURED:
        found.append("importance of every weight after each task")
    if run.method == "agem":
        found.append("projection of gradients")
    if updates := _setting(run, "retraining_updates"):
        found.append(f"{updates:,} updates of retraining after each task but the last")
    return found
