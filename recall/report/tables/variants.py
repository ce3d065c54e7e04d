"""Tables of a method and its variants."""

from collections import Counter

from recall.analysis.bootstrap import Estimate
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import label_of
from recall.report import paper
from recall.report.tables.pivot import Key, groups_of, metric_keys, pivot_table
from recall.report.tables.table import Table
from recall.runs.wording import few

WEIGHT = "method.distillation_weight"


def variant_tables(analysis: Analysis) -> list[Table]:
    """Return a table for each method and set of sequences on which variants of it were run."""
    scores = analysis.scores
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for label, rows in groups_of(scores, list_of(scores, "label")).items():
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
    groups = groups_of(scores, list_of(scores, "label"))
    plain = [
        label
        for label, rows in groups.items()
        for run in [rows["run"].iloc[0]]
        if not run.variant and run.preset == preset and rows.sequence.nunique() == len(where)
    ]
    chosen = [*plain, *labels]
    scores = select(scores, label=chosen)

    def published(row: Key, column: Key) -> Estimate | None:
        """Return the paper's metric at this weight of the distillation, if it has one."""
        run = groups[row.where["label"]].run.iloc[0]
        if method != "recall" or len(where) > 1 or not set(run.changes) <= {WEIGHT}:
            return None
        return paper.with_weight(where[0], float(run.settings[WEIGHT]), column.value)

    return pivot_table(
        analysis,
        scores,
        [
            Key(groups[label].variant.iloc[0] or label, {"label": label, "sequence": where})
            for label in chosen
        ],
        metric_keys(scores),
        published=published,
        advise=True,
        name=name,
        title=f"Variants of {label_of(method, preset=preset)} on {few(where, 8)}",
        corner="variant",
        group="variants",
    )
