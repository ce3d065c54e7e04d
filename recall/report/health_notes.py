"""Summarise the health warnings of all runs in a few sentences for the list of problems."""

from recall.analysis.collection import Collection
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
                f"{first['message']}."
            )
    return problems
