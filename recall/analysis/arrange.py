"""Choose, order and rename the methods of a report."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from recall.analysis.collection import Collection
from recall.analysis.labels import method_label
from recall.analysis.run_result import RunResult
from recall.errors import BadValueError, UnknownNameError
from recall.settings.checked import given_texts


def arranged(
    collection: Collection,
    methods: Sequence[str] | str = (),
    names: Mapping[str, str] | None = None,
) -> Collection:
    """Return a collection with only `methods`, in their order, and with labels renamed.

    A method is given by its name or label, which stand for all its variants, or by the label of
    one variant. `names` maps these to what stands instead of them: that of a method renames its
    part of every label ("RECALL, preset quick" becomes "Ours, preset quick"), except of labels
    that are given names of their own.
    """
    methods, names = given_texts(methods, "methods"), {} if names is None else names
    known = dict.fromkeys(name for run in collection.runs for name in _names_of(run))
    for name in (*methods, *names):
        if name not in known:
            raise UnknownNameError("method of this report", name, known)
    labels = _new_labels(collection, names)
    runs = [run for run in collection.runs if not methods or _place(run, methods) is not None]
    if methods:
        runs.sort(key=lambda run: _place(run, methods) or 0)
    renamed = (dataclasses.replace(run, label=labels[run.label]) for run in runs)
    return dataclasses.replace(collection, runs=tuple(renamed), chosen=methods)


def _new_labels(collection: Collection, names: Mapping[str, str]) -> dict[str, str]:
    """Return the new label of every label. Raises an error if two of them would be the same."""
    methods, labels = {}, {}
    for run in collection.runs:
        own = method_label(run.method)
        methods[own] = names.get(own, names.get(run.method, own))
        new = methods[own] + run.label.removeprefix(own)
        labels[run.label] = names.get(run.label, new)
    for renamed in (methods, labels):
        counts = Counter(renamed.values())
        for old, name in renamed.items():
            if counts[name] > 1 and name != old:
                raise BadValueError(f"{old}={name}: another method already has this name")
    return labels


def _names_of(run: RunResult) -> tuple[str, str, str]:
    return run.label, run.method, method_label(run.method)


def _place(run: RunResult, methods: Sequence[str]) -> int | None:
    """Return the place of a run among the chosen methods; its own label counts before others."""
    for name in _names_of(run):
        if name in methods:
            return methods.index(name)
    return None
