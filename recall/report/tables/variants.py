"""Tables of a method and its variants, among them those of the paper's appendix."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

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
ACTOR, CRITIC = "method.actor_heads", "method.critic_heads"
MODE = "method.replay_mode"
_MOST_NAMED = 8
# What the paper calls networks with these heads. It has none with deep heads, which share less.
_SHARING = {"shallow": "shared", "separate": "unshared"}
_MODES = ("offline", "online")


def variant_tables(analysis: Analysis) -> list[Table]:
    """Return the tables of variants; what a table of the appendix shows is not repeated."""
    appendix = [
        *_of_weights(analysis),
        *_of_sharing(analysis),
        *_of_replay_modes(analysis),
    ]
    shown = ({WEIGHT}, {ACTOR, CRITIC}, {MODE})
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for label, rows in groups_of(analysis.scores, list_of(analysis.scores, "label")).items():
        run = rows["run"].iloc[0]
        if run.changes and not any(set(run.changes) <= names for names in shown):
            where = tuple(list_of(rows, "sequence"))
            together.setdefault((run.method, run.preset, where), []).append(label)
    seen, tables = Counter[str](), []
    for (method, preset, sequences), labels in together.items():
        if len(sequences) > 1 or len(labels) > 1:
            name = f"variants-{label_of(method, preset=preset)}-{sequences[0]}-{len(sequences)}"
            seen[name] += 1
            name += f"-{seen[name]}" if seen[name] > 1 else ""
            tables.append(_variants(analysis, name, method, preset, sequences, labels))
    return [*appendix, *tables]


def _variants(
    analysis: Analysis,
    name: str,
    method: str,
    preset: str,
    sequences: Sequence[str],
    labels: Sequence[str],
) -> Table:
    """Return the means of a method and some variants over the sequences that they share."""
    scores = select(analysis.scores, sequence=list(sequences), method=method)
    groups = groups_of(scores, list_of(scores, "label"))
    plain = [
        label
        for label, rows in groups.items()
        for run in [rows["run"].iloc[0]]
        if not run.variant and run.preset == preset and rows.sequence.nunique() == len(sequences)
    ]
    chosen = [*plain, *labels]
    scores = select(scores, label=chosen)
    rows = [
        Key(groups[label].variant.iloc[0] or label, {"label": label, "sequence": list(sequences)})
        for label in chosen
    ]
    return pivot_table(
        analysis,
        scores,
        rows,
        metric_keys(scores),
        advise=True,
        name=name,
        title=f"Variants of {label_of(method, preset=preset)} on {few(sequences, _MOST_NAMED)}",
        corner="variant",
        group="variants",
    )


def _varied(
    analysis: Analysis, method: str, names: set[str]
) -> Iterator[tuple[str, str, Mapping[str, RunResult], pd.DataFrame]]:
    """Yield where a method's labels differ only in `names`, if there are several of them.

    It is a name, the sequence, a run of each label, and their rows.
    """
    found: dict[tuple[str, str], dict[str, RunResult]] = {}
    for run in list_of(select(analysis.scores, method=method), "run"):
        if set(run.changes) <= names and run.source == "recall":
            found.setdefault((run.sequence, run.preset), {}).setdefault(run.label, run)
    for (sequence, preset), runs in found.items():
        if len(runs) > 1:
            name = sequence if preset == DEFAULT else f"{sequence}, preset {preset}"
            rows = select(analysis.scores, sequence=sequence, label=list(runs))
            yield name, sequence, runs, rows


def _of_weights(analysis: Analysis) -> Iterator[Table]:
    """Yield RECALL by the weight of its distillation, for each sequence."""
    for name, sequence, runs, scores in _varied(analysis, "recall", {WEIGHT}):
        weights = {label: float(run.settings[WEIGHT]) for label, run in runs.items()}

        def published(row: Key, column: Key, sequence: str = sequence) -> Estimate | None:
            return paper.with_weight(sequence, float(row.heading), column.value)

        yield pivot_table(
            analysis,
            scores,
            [
                Key(f"{weights[label]:g}", {"label": label})
                for label in sorted(weights, key=lambda label: weights[label])
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
    for name, _, runs, scores in _varied(analysis, "perfect_memory", {ACTOR, CRITIC}):
        if scores.tasks.iloc[0] != 2:
            continue
        words = {
            label: tuple(_SHARING.get(run.settings[each], "") for each in (CRITIC, ACTOR))
            for label, run in runs.items()
        }
        order = [*_SHARING.values(), ""]

        def published(
            row: Key, column: Key, words: Mapping[str, tuple[str, ...]] = words
        ) -> Estimate | None:
            critic, actor = (word == "shared" for word in words[row.where["label"]])
            if "" in words[row.where["label"]]:
                return None
            return paper.with_sharing(actor, critic, column.where["position"])

        yield pivot_table(
            analysis,
            scores,
            [
                Key(_heads(runs[label]), {"label": label})
                for label in sorted(words, key=lambda label: [order.index(w) for w in words[label]])
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


def _heads(run: RunResult) -> str:
    return ", ".join(
        f"{_SHARING[heads]} {network}" if heads in _SHARING else f"{network} with {heads} heads"
        for network, name in (("actor", ACTOR), ("critic", CRITIC))
        for heads in [run.settings[name]]
    )


def _of_replay_modes(analysis: Analysis) -> Iterator[Table]:
    """Yield perfect memory on the first task of pairs, offline and online."""
    found = [each for each in _varied(analysis, "perfect_memory", {MODE}) if is_pair(each[1])]
    if not found:
        return
    parts = [select(scores, position=0).assign(pair=name) for name, _, _, scores in found]
    scores = pd.concat(parts)
    scores = scores.assign(mode=[run.settings[MODE] for run in scores["run"]])
    for what, value in (("performance", "final"), ("forgetting", "forgotten")):

        def published(row: Key, column: Key, what: str = what) -> Estimate | None:
            return paper.with_replay_mode(f"pair-{row.heading}", column.heading, what)

        rows = [Key(numbers_of_pair(name), {"pair": name}, value) for name, *_ in found]
        yield pivot_table(
            analysis,
            scores,
            rows,
            [Key(mode, {"mode": mode}) for mode in _MODES],
            best="row",
            published=published,
            name=f"replay-mode-{what}",
            title=f"{what.capitalize()} of PM on the first task of pairs, by how old tasks are "
            "learned",
            corner="pair",
            group="replay_mode",
        )
