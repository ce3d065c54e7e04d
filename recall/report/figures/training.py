"""Plot training records: losses, Q values, and whether networks can still learn."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from recall.analysis.run_result import RunResult, is_multi_task
from recall.report.figures.bands import Band, Group, bands_of, current, described
from recall.report.figures.curves import Panel, curve_figure, drawn_families
from recall.report.figures.figure import Figure, Scene, Skipped
from recall.report.figures.layout import LineStyle, Scale

Array = np.ndarray
POINTS = 240  # approximate number of points per curve
MOST_RUNS = 10  # per label; records are long, and more runs would not change the picture
_OF_NETWORK: tuple[tuple[str, str, Scale], ...] = (
    ("dormant", "dormant units", "from zero"),
    ("rank", "effective rank", "from zero"),
    ("weight_norm", "weight norm", "from zero"),
    ("grad_norm", "gradient norm", "fitted"),
)
METRICS: tuple[tuple[str, str, Scale], ...] = (
    ("loss_pi", "policy loss", "fitted"),
    ("loss_q", "Q loss", "fitted"),
    ("q_value", "mean Q", "fitted"),
    ("alpha", "temperature", "fitted"),
    *((f"{name}_pi", f"actor: {title}", scale) for name, title, scale in _OF_NETWORK),
    *((f"{name}_q", f"critic: {title}", scale) for name, title, scale in _OF_NETWORK),
)


def training(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot losses, Q, temperature and plasticity over the first sequence of each family."""

    def panels_of(group: Group) -> tuple[list[Panel], dict[str, Any]]:
        runs = {k: v for k, v in group.runs.items() if not is_multi_task(v[0].method)}
        panels = []
        for name, title, scale in METRICS:
            by_task = name in ("q_value", "alpha")  # which have a value for each task
            if bands := record_bands(replace(group, runs=runs) if by_task else group, name):
                ends = group.ends if by_task else ()
                panels.append(Panel(title, group, bands, scale, ends=ends))
        return panels, {"columns": 4, "height": 1.05}

    return _first_sequences(
        scene,
        "training",
        "Training",
        "Losses, the mean Q and the temperature of the task in training; methods that normalise "
        "have losses of another scale. For actor and critic the share of dormant hidden units, "
        "the effective rank of the last hidden layer on the current task, the norm of the weights "
        "that act on it, and the norm of the gradient before clipping.",
        panels_of,
    )


def q_scale(scene: Scene) -> Iterator[Figure | Skipped]:
    """Plot the size of every task's Q values: scales that compete for one network."""

    def panels_of(group: Group) -> tuple[list[Panel], dict[str, Any]]:
        names = [f"{task + 1} {name}" for task, name in enumerate(group.tasks)]
        shades = colormaps["viridis"](np.linspace(0.0, 0.92, len(names)))
        styles = {name: LineStyle(to_hex(shade)) for name, shade in zip(names, shades, strict=True)}
        by_task = {name: record_bands(group, "q_value", n) for n, name in enumerate(names)}
        panels = [
            Panel(scene.names[label], group, bands, "fitted")
            for label in group.runs
            if (bands := {name: by[label] for name, by in by_task.items() if label in by})
        ]
        wide = {"columns": 3 if len(panels) > 2 else 2, "height": 1.3}
        return panels, {"styles": styles, "name": "mean Q", **wide}

    return _first_sequences(
        scene,
        "q_scale",
        "Scale of Q",
        "Mean Q of each task on its transitions in the batches; a curve ends where a method no "
        "longer draws any. Where old policies are only cloned, the critics of old tasks are not "
        "trained.",
        panels_of,
    )


def record_bands(group: Group, name: str, task: int | None = None) -> dict[str, Band]:
    """Return the mean curve of a metric, of `task` or the current one, for labels that have it."""

    def column(run: RunResult) -> tuple[Array, Array]:
        records = run.training
        if name not in records:
            return np.zeros(0), np.zeros(0)
        steps, values = records["step"], records[name]
        if values.ndim == 2:
            values = current(run, steps, values) if task is None else values[:, task]
        there = np.isfinite(values) & (steps > 0)
        return steps[there], values[there]

    points = max(10, POINTS // len(group.tasks))
    return bands_of(group, column, points, group.ends if task is None else ())


def _first_sequences(
    scene: Scene,
    kind: str,
    title: str,
    caption: str,
    panels_of: Callable[[Group], tuple[list[Panel], dict[str, Any]]],
) -> Iterator[Figure | Skipped]:
    """Yield one figure for the first sequence of each family."""
    found, skipped = drawn_families(scene, kind, scene.collection)
    for first, *_ in found.values():
        runs = {label: runs[:MOST_RUNS] for label, runs in first.runs.items()}
        group = replace(first, runs=runs)
        panels, options = panels_of(group)
        if not panels:
            yield Skipped(kind, f"{group.sequence}: its training records do not have what it shows")
            continue
        thinned = [
            "Training records were thinned when the runs were archived: of those of updates, the "
            f"last in every {every:,} steps is kept."
            for every in sorted({run.training_every or 0 for run in group.every_run} - {0})
        ]
        figure, about = curve_figure(scene, panels, **options), f"{title} on {group.sequence}"
        sentences = [caption, described([group]), *thinned]
        yield Figure.of(kind, group.sequence, about, sentences, figure)
    yield from skipped
