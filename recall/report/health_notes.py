"""Summarise the health warnings of all runs in a few sentences for the list of problems."""

from typing import Any

from recall.analysis.collection import Collection
from recall.analysis.labels import method_label
from recall.analysis.run_result import RunResult
from recall.runs.health import DIVERGING_CRITICS
from recall.runs.wording import counted


def health_problems(collection: Collection) -> list[str]:
    """Return one sentence for each label and kind of warning, with the earliest as an example."""
    problems = []
    for label, runs in collection.by_label().items():
        warned = [(warning, run) for run in runs for warning in run.warnings]
        for kind in dict.fromkeys(warning["health"] for warning, _ in warned):
            mine = [(warning, run) for warning, run in warned if warning["health"] == kind]
            first, where = min(mine, key=lambda pair: pair[0]["step"])
            count = len({id(run) for _, run in mine})
            problems.append(
                f"{label}: {kind.replace('_', ' ')} in {count} of {counted(len(runs), 'run')}. "
                f"The first was {where.name} in {where.folder} at step {first['step']:,}: "
                f"{_what(first, where)}."
            )
    return problems


def _what(warning: dict[str, Any], run: RunResult) -> str:
    """Return the message of a warning; what diverging critics lead to depends on the method."""
    message = str(warning["message"])
    stage = (warning["step"] - 1) // run.steps_per_task
    if warning["health"] != DIVERGING_CRITICS or warning["position"] >= stage:
        return message
    if run.settings.get("method.rehearse", True) or run.settings.get("method.critic_weight", 0.0):
        return message
    fact = message.rpartition(": ")[0]
    return f"{fact}. {method_label(run.method)} no longer uses an old task's critics"
