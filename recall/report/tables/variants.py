"""Tables of a method's variants, and of methods that were trained under both rewards."""

from collections import Counter

import pandas as pd

from recall.analysis.estimates import Estimate, round_for_comparison
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import family_title, label_of, settings_in_words
from recall.analysis.metrics import PERFORMANCE
from recall.analysis.run_result import RunResult
from recall.report import paper
from recall.report.tables.pivot import Key, Table, by_label, metric_keys, pivot_table
from recall.runs.wording import few

WEIGHT = "method.distillation_weight"
REWARD = "world.reward"
_REWARDS = ["v1", "v2"]


def variant_tables(analysis: Analysis) -> list[Table]:
    """Return a table for each method and set of sequences on which variants of it were run."""
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for label, rows in by_label(analysis.scores).items():
        run = rows["run"].iloc[0]
        if run.changes:
            where = tuple(list_of(rows, "sequence"))
            together.setdefault((run.method, run.preset, where), []).append(label)
    seen = Counter[str]()
    tables = []
    for (method, preset, where), labels in together.items():
        if len(where) > 1 or len(labels) > 1:
            name = f"variants-{label_of(method, preset=preset)}-{where[0]}-{len(where)}"
            seen[name] += 1
            name += f"-{seen[name]}" if seen[name] > 1 else ""
            tables.append(_variants(analysis, name, method, preset, list(where), labels))
    return tables


def _variants(
    analysis: Analysis, name: str, method: str, preset: str, where: list[str], labels: list[str]
) -> Table:
    """Return the means of a method and some variants over the sequences that they share."""
    scores = select(analysis.scores, sequence=where, method=method)
    groups = by_label(scores)
    firsts = {label: rows["run"].iloc[0] for label, rows in groups.items()}
    plain = [
        label
        for label, run in firsts.items()
        if (run.variant, run.preset, groups[label].sequence.nunique()) == ("", preset, len(where))
    ]
    chosen = [*plain, *labels]
    scores = select(scores, label=chosen)

    def published(row: Key, column: Key) -> Estimate | None:
        """Return the paper's metric at this weight of the distillation, if it has one."""
        run = firsts[row.where["label"]]
        if method != "recall" or where != ["cw6-1"] or not set(run.changes) <= {WEIGHT}:
            return None
        return paper.number("lambda_cw6_1", f"{run.settings[WEIGHT]:g}", column.value)

    return pivot_table(
        analysis,
        scores,
        [Key(firsts[each].variant or each, {"label": each, "sequence": where}) for each in chosen],
        metric_keys(scores),
        published=published,
        advise=True,
        name=name,
        title=f"Variants of {label_of(method, preset=preset)} on {few(where, 8)}",
        corner="variant",
    )


def reward_tables(analysis: Analysis) -> list[Table]:
    """Return tables of families in which two methods or more were run under both rewards."""

    def without_reward(run: RunResult) -> str:
        changes = {name: value for name, value in run.changes.items() if name != REWARD}
        return label_of(run.method, settings_in_words(changes), run.preset)

    runs = analysis.scores["run"]
    scores = analysis.scores.assign(
        reward=[run.settings.get(REWARD) for run in runs],
        unrewarded=list(map(without_reward, runs)),
    )
    tables = []
    for family, rows in select(scores, reward=_REWARDS).groupby("family", sort=False):
        rewards = rows.groupby("unrewarded")["reward"].nunique()
        both = rewards.index[rewards == len(_REWARDS)].tolist()
        if len(both) > 1:
            tables.append(_rewards(analysis, str(family), select(rows, unrewarded=both)))
    return tables


def _rewards(analysis: Analysis, family: str, scores: pd.DataFrame) -> Table:
    """Return average performance by each reward in a family, and how the ranks agree."""
    notes = ["Success is judged by the criterion of each reward."]
    means = scores.groupby(["unrewarded", "reward"])["final"].mean().map(round_for_comparison)
    ranks = means.unstack().rank()
    if ranks.nunique().min() > 1:  # where all methods are equal there is no correlation
        alike = ranks["v1"].corr(ranks["v2"])
        notes.append(f"Spearman's correlation of both ranks, {len(ranks)} methods: {alike:.2f}.")
    return pivot_table(
        analysis,
        scores,
        [Key(label, {"unrewarded": label}) for label in list_of(scores, "unrewarded")],
        [Key(f"reward {reward}", {"reward": reward}, PERFORMANCE) for reward in _REWARDS],
        notes=notes,
        name=f"{family}-rewards",
        title=f"{family_title(family)}: average performance by reward",
    )
