"""Names in reports: labels of runs, and families of sequences, which share tables and figures.

A label is a method, its preset, and every setting that departs from it. Settings of OF_EXPERIMENT
and of unregistered methods are named only where runs of a method that are shown together differ.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from recall.analysis import continual_world_logs
from recall.analysis.departures import (
    BOUNDARIES,
    DEFAULT,
    OF_EXPERIMENT,
    STEPS,
    departures,
    nearest_preset,
    settings_that_matter,
)
from recall.analysis.run_result import RunResult
from recall.methods import METHODS
from recall.runs.wording import few

TRIPLETS = ("cw3", "cw6")
"""Families of eight sequences each, with a table for each metric."""
LONG = ("cw10", "cw20")
"""Sequences that share one table but are drawn one by one."""
PAIRS = "pairs"

IMPORTED = "imported"
"""The variant of runs that were imported from other code."""
_STEPS = (STEPS, "log.steps_per_task")
_MOST_NAMED = 3
T = TypeVar("T")
_SYMBOLS = {"distillation_weight": "λ", "weight": "λ", "critic_weight": "λ of the critics"}
_IN_WORDS = {
    ("distil", "False"): "no distillation",
    ("distil_critics", "False"): "critics not distilled",
    ("normalise_targets", "False"): "no normalisation",
    ("normalise_targets", "True"): "normalised",
    ("best_return", "False"): "no best-return start",
    ("best_return", "True"): "best-return start",
    ("average_actor", "None"): "no average actor",
    ("clip_norm", "None"): "no clipping",
    ("actor_heads", "separate"): "separate actors",
    ("critic_heads", "separate"): "separate critics",
    ("actor_heads", "shallow"): "shared actor",
    ("critic_heads", "shallow"): "linear critic heads",
    ("critic_heads", "deep"): "deep critic heads",
    ("boundaries", "hidden"): "hidden boundaries",
}


def labelled(runs: Sequence[RunResult]) -> list[RunResult]:
    """Return the runs with labels, in the order of tables: method, variant, sequence, seed.

    Runs of a method are compared with those that tables show beside them.
    """
    usual: dict[str, int | None] = {}
    for table, group in grouped(runs, _table_of).items():
        counts = Counter(run.steps_per_task for run in group).most_common(2)
        tied = len(counts) > 1 and counts[0][1] == counts[1][1]
        usual[table] = None if tied else counts[0][0]
    named = list[RunResult]()
    for group in grouped(runs, lambda run: (run.method, run.source, _table_of(run))).values():
        told = {BOUNDARIES, *_varying([run.settings for run in group])}
        for run in group:
            preset = nearest_preset(run.method, run.settings)
            imported = run.source == continual_world_logs.SOURCE
            ours = run.method in METHODS and not imported
            changes = {
                name: value
                for name, value in departures(run.method, run.settings, preset).items()
                if name not in _STEPS
                and (name in told or (ours and not name.startswith(OF_EXPERIMENT)))
            }
            if run.steps_per_task != usual[_table_of(run)]:
                changes[STEPS] = run.steps_per_task
            words = [IMPORTED if imported else "", settings_in_words(changes)]
            variant = ", ".join(filter(None, words))
            label = label_of(run.method, variant, preset)
            made = replace(run, label=label, variant=variant, changes=changes, preset=preset)
            named.append(made)
    named.sort(
        key=lambda run: (order_of(run.method, run.label), order_of("", run.sequence), run.seed)
    )
    return named


def _table_of(run: RunResult) -> str:
    """Return the group that shares tables: a family, single tasks, or CW10 with CW20."""
    if len(run.tasks) == 1:
        return "single"
    return "long" if run.sequence in LONG else family_of(run.sequence)


def _varying(runs: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the settings that matter in which runs, given by their settings, differ."""
    compared = [settings_that_matter(settings) for settings in runs]
    names = {name for settings in compared for name in settings}
    return {name for name in names if len({str(each.get(name)) for each in compared}) > 1}


def main_labels(runs: Iterable[RunResult]) -> list[str]:
    """Return the labels without variants of each method, or all its labels if it has no others.

    Imported runs count apart from ours. Labels are in the order of methods, then of `runs`.
    """
    chosen: list[str] = []
    for by_method in grouped(runs, lambda run: run.method).values():
        main: set[str] = set()
        for group in grouped(by_method, lambda run: run.source).values():
            plain = {run.label for run in group if run.variant in ("", IMPORTED)}
            main |= plain or {run.label for run in group}
        chosen += dict.fromkeys(run.label for run in by_method if run.label in main)
    return chosen


def of_other_code(runs: Iterable[RunResult]) -> list[str]:
    """Return a warning for each plug-in whose code differs among runs of one label."""
    codes: dict[str, dict[str, set[str]]] = {}  # by plug-in and label
    for run in runs:
        for plugin, facts in run.description.get("plugin_sources", {}).items():
            labels = codes.setdefault(plugin, {})
            labels.setdefault(run.label, set()).add(str(facts.get("source")))
    return [
        f"Runs of {few(several, _MOST_NAMED)} were trained with different code of the plug-in "
        f"{plugin} (plugin_sources in run.json), and share a label."
        for plugin, labels in codes.items()
        if (several := [label for label, found in labels.items() if len(found) > 1])
    ]


def grouped(items: Iterable[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """Return the items of each key, in the order of first appearance."""
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def settings_in_words(changes: Mapping[str, Any]) -> str:
    """Return settings and their values as the text of a label."""
    return ", ".join(_one_in_words(name.rpartition(".")[2], changes[name]) for name in changes)


def _one_in_words(name: str, value: Any) -> str:
    spaced = name.replace("_", " ")
    if found := _IN_WORDS.get((name, str(value))):
        return found
    if name == "steps_per_task":
        return f"{_short(value)} {spaced}"
    if isinstance(value, bool):
        return spaced if value else f"no {spaced}"
    return f"{_SYMBOLS.get(name, spaced)} {_short(value)}"


def method_label(method: str) -> str:
    """Return a method's label in the registry, or its name if it is not registered."""
    return METHODS[method].label if method in METHODS else method


def label_of(method: str, variant: str = "", preset: str = DEFAULT) -> str:
    """Return the label of a run in tables and figures."""
    named = f"preset {preset}" if preset != DEFAULT else ""
    return ", ".join(filter(None, [method_label(method), named, variant]))


def order_of(method: str, variant: str) -> tuple[Any, ...]:
    """Return a sort key for labels: methods as in the registry, variants last, numbers by size."""
    names = list(METHODS)
    place = names.index(method) if method in names else len(names)
    parts = re.split(r"(\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?)", variant)
    # Every second part is a number.
    numbers = [float(part.replace(",", "")) for part in parts[1::2]]
    return place, method, list(zip(parts[::2], [*numbers, 0.0], strict=True))


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "x".join(map(_short, value))
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return "none" if value is None else str(value).replace("_", " ")


def family_of(sequence: str) -> str:
    """Return the family: cw3 for cw3-1, pairs for pair-0-1, and any other sequence itself."""
    if re.fullmatch(r"pair-\d+-\d+", sequence):
        return PAIRS
    numbered = re.fullmatch(r"([^,]+)-\d+", sequence)
    return numbered[1] if numbered else sequence


def family_title(family: str) -> str:
    """Return a family's name as a heading."""
    if family == PAIRS:
        return "Pairs of tasks"
    return family.upper() if family in (*TRIPLETS, *LONG) else family


def display_name(sequence: str, tasks: Sequence[str]) -> str:
    """Return a sequence's name, followed by its tasks if the name does not list them."""
    return ", ".join(tasks) if "," in sequence else f"{sequence} ({', '.join(tasks)})"


def left_out(tasks: Iterable[str]) -> str:
    """Return a sentence on the tasks that means of success leave out, or nothing without any."""
    names = ", ".join(dict.fromkeys(tasks))
    return f"Without {names}, whose success is not reported." if names else ""
