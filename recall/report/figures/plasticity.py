"""Plot whether networks can still learn: dormant units, rank, weights and gradients."""

from collections.abc import Iterator, Mapping

from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.curve_panels import draw_bands, seeds_in_words
from recall.report.figures.figure import Figure, Panel, Scene, Skipped
from recall.report.figures.groups import Group
from recall.report.figures.style import LineStyle
from recall.report.figures.training_curves import fit_scale, of_groups, record_bands

KIND = "plasticity"
SHOWN = (
    ("dormant", "dormant units"),
    ("rank", "effective rank"),
    ("weight_norm", "weight norm"),
    ("grad_norm", "gradient norm"),
)
NETWORKS = (("pi", "actor"), ("q", "critic"))


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure for the first sequence of each family."""
    yield from of_groups(
        scene, KIND, "its training records tell nothing of plasticity", _make_figure
    )


def _make_figure(group: Group, styles: Mapping[str, LineStyle]) -> Figure | None:
    names = [
        (f"{key}_{suffix}", f"{network}: {what}")
        for suffix, network in NETWORKS
        for key, what in SHOWN
    ]
    found = [record_bands(group, name) for name, _ in names]
    if not any(found[i] for i, (name, _) in enumerate(names) if not name.startswith("grad_")):
        return None
    labels = [label for label in group.runs if any(label in bands for bands in found)]
    legend = [layout.handle(label, styles[label]) for label in labels]
    space = layout.Space(left=0.34, beside=0.34, under=0.16)
    figure, axes = layout.grid(len(names), len(SHOWN), 1.1, legend, space=space)
    panels = []
    for index, (ax, (name, title), bands) in enumerate(zip(axes, names, found, strict=True)):
        series = draw_bands(ax, bands, styles)
        if name.startswith("grad_"):
            fit_scale(ax, [band.mean for band in bands.values()])
        if ax.get_yscale() == "linear":
            ax.set_ylim(bottom=0.0)
            layout.plain_ticks(ax.yaxis)
        bottom, _ = layout.is_outer(index, len(names), len(SHOWN))
        layout.steps_axis(ax, group.total_steps, group.steps_per_task, bottom)
        ax.grid(axis="y", color="#eeeeee", linewidth=0.5)
        layout.title(ax, title)
        panels.append(Panel.of(ax, title, ("steps", title), series))
    return Figure(
        KIND,
        f"{KIND}-{slug(group.sequence)}",
        f"Plasticity on {group.sequence}",
        "Share of dormant hidden units, effective rank of the last hidden layer on the current "
        "task, norm of the weights that act on it, and norm of the gradient before clipping, "
        f"for actor and critic. {seeds_in_words([group])}",
        figure,
        tuple(panels),
    )
