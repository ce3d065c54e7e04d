"""Tables of a method and its variants, among them those of the paper's appendix."""

from collections import Counter
from collections.abc import Iterator, Mapping

import pandas as pd

from recall.analysis.bootstrap import Estimate
from recall.analysis.departures import DEFAULT
from recall.analysis.families import is_pair, numbers_of_pair
from recall.analysis.frames import Analysis, list_of, select
from recall.analysis.labels import label_of
from recall.analysis.run_result import RunResult
from recall.report import paper
from recall.report.tables.pivot import Key, groups_of, metric_keys, pivot_table
from recall.report.tables.table import Table
from recall.runs.wording import few

WEIGHT = "method.distillation_weight"
HEADS = {"actor": "method.actor_heads", "critic": "method.critic_heads"}
MODE = "method.replay_mode"
# What the paper calls networks with these heads. It has none with deep heads, which share less.
_SHARING = {"shallow": "shared", "separate": "unshared"}


def variant_tables(analysis: Analysis) -> list[Table]:
    """Return the tables of variants; what a table of the appendix shows is not repeated."""
    scores = analysis.scores
    shown = ({WEIGHT}, {*HEADS.values()}, {MODE})
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for label, rows in groups_of(scores, list_of(scores, "label")).items():
        run = rows["run"].iloc[0]
        if run.changes and not any(set(run.changes) <= names for names in shown):
            where = tuple(list_of(rows, "sequence"))
            together.setdefault((run.method, run.preset, where), []).append(label)
    seen = Counter[str]()
    tables = [*_of_weights(analysis), *_of_sharing(analysis), *_of_replay_modes(analysis)]
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
    return pivot_table(
        analysis,
        scores,
        [
            Key(groups[label].variant.iloc[0] or label, {"label": label, "sequence": where})
            for label in chosen
        ],
        metric_keys(scores),
        advise=True,
        name=name,
        title=f"Variants of {label_of(method, preset=preset)} on {few(where, 8)}",
        corner="variant",
        group="variants",
    )


def _varied(
    analysis: Analysis, method: str, names: set[str]
) -> Iterator[tuple[str, Mapping[str, RunResult], pd.DataFrame]]:
    """Yield where a method's labels differ only in `names`, if there are several of them.

    It is the sequence, with the preset if it is not the default; a run of each label; their rows.
    """
    found: dict[tuple[str, str], dict[str, RunResult]] = {}
    for run in list_of(select(analysis.scores, method=method), "run"):
        if set(run.changes) <= names and run.source == "recall":
            found.setdefault((run.sequence, run.preset), {}).setdefault(run.label, run)
    for (sequence, preset), runs in found.items():
        if len(runs) > 1:
            name = sequence if preset == DEFAULT else f"{sequence}, preset {preset}"
            yield name, runs, select(analysis.scores, sequence=sequence, label=list(runs))


def _of_weights(analysis: Analysis) -> Iterator[Table]:
    """Yield RECALL by the weight of its distillation, for each sequence."""
    for name, runs, scores in _varied(analysis, "recall", {WEIGHT}):
        sequence = scores.sequence.iloc[0]
        weights = {label: float(run.settings[WEIGHT]) for label, run in runs.items()}

        def published(row: Key, column: Key, sequence: str = sequence) -> Estimate | None:
            return paper.with_weight(sequence, float(row.heading), column.value)

        yield pivot_table(
            analysis,
            scores,
            [
                Key(f"{weight:g}", {"label": label})
                for label, weight in sorted(weights.items(), key=lambda item: item[1])
            ],
            metric_keys(scores),
            published=published,
            advise=True,
            name=f"lambda-{name}",
            title=f"RECALL by the weight λ of its distillation, on {name}",
            corner="λ",
            group="lambda",
        )


def _of_sharing(analysis: Analysis) -> Iterator[Table]:
    """Yield perfect memory on two tasks, with shared and with separate networks."""
    for name, runs, scores in _varied(analysis, "perfect_memory", {*HEADS.values()}):
        if scores.tasks.iloc[0] != 2:
            continue
        heads = {
            label: [run.settings[each] for each in HEADS.values()] for label, run in runs.items()
        }

        def published(
            row: Key, column: Key, heads: Mapping[str, list[str]] = heads
        ) -> Estimate | None:
            words = [_SHARING.get(each) for each in heads[row.where["label"]]]
            if None in words:
                return None
            actor, critic = (word == "shared" for word in words)
            return paper.with_sharing(actor, critic, column.where["position"])

        def in_words(label: str, heads: Mapping[str, list[str]] = heads) -> str:
            return ", ".join(
                f"{_SHARING[own]} {network}" if own in _SHARING else f"{network} with {own} heads"
                for network, own in zip(HEADS, heads[label], strict=True)
            )

        order = [*_SHARING, "deep"]
        yield pivot_table(
            analysis,
            scores,
            [
                Key(in_words(label), {"label": label})
                for label in sorted(
                    heads, key=lambda label: [order.index(own) for own in reversed(heads[label])]
                )
            ],
            [
                Key("first task", {"position": 0}, "final"),
                Key("second task", {"position": 1}, "final"),
            ],
            published=published,
            notes=("The paper does not say which pair its numbers are of.",),
            name=f"sharing-{name}",
            title=f"PM with shared and separate networks, on {name}",
            corner="networks",
            group="sharing",
        )


def _of_replay_modes(analysis: Analysis) -> Iterator[Table]:
    """Yield perfect memory on the first task of pairs, offline and online."""
    found = {
        name: select(scores, position=0).assign(pair=name)
        for name, _, scores in _varied(analysis, "perfect_memory", {MODE})
        if is_pair(scores.sequence.iloc[0])
    }
    if not found:
        return
    scores = pd.concat(found.values())
    scores = scores.assign(mode=[run.settings[MODE] for run in scores["run"]])
    for what, value in (("performance", "final"), ("forgetting", "forgotten")):

        def published(row: Key, column: Key, what: str = what) -> Estimate | None:
            return paper.with_replay_mode(f"pair-{row.heading}", column.heading, what)

        yield pivot_table(
            analysis,
            scores,
            [Key(numbers_of_pair(name), {"pair": name}, value) for name in found],
            [Key(mode, {"mode": mode}) for mode in ("offline", "online")],
            best="row",
            published=published,
            name=f"replay-mode-{what}",
            title=f"{what.capitalize()} of PM on the first task of pairs, by how old tasks are "
            "learned",
            corner="pair",
            group="replay_mode",
        )
