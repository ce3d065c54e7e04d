"""Plot losses and Q values of the task in training, across the switch from task one to two."""

from collections.abc import Iterator, Mapping

from recall.files.names import slug
from recall.report.figures import layout
from recall.report.figures.curve_panels import draw_bands, seeds_in_words
from recall.report.figures.figure import Figure, Panel, Scene, Skipped
from recall.report.figures.groups import Group
from recall.report.figures.style import LineStyle
from recall.report.figures.training_curves import fit_scale, of_groups, record_bands

KIND = "task_switch"
SHOWN = (("loss_pi", "policy loss"), ("loss_q", "Q loss"), ("q_value", "mean Q, current task"))


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure for the first sequence of each family."""
    yield from of_groups(
        scene, KIND, "its training records have no losses", _make_figure, staged=True
    )


def _make_figure(group: Group, styles: Mapping[str, LineStyle]) -> Figure | None:
    end = 2 * group.steps_per_task
    found = [record_bands(group, name) for name, _ in SHOWN]
    if not any(found):
        return None
    labels = [label for label in group.runs if any(label in bands for bands in found)]
    legend = [layout.handle(label, styles[label]) for label in labels]
    space = layout.Space(beside=0.42)
    figure, axes = layout.grid(3, 3, 1.45, legend, space=space)
    panels = []
    for ax, (_, name), bands in zip(axes, SHOWN, found, strict=True):
        bands = {label: band.within(0, end) for label, band in bands.items()}
        series = draw_bands(ax, bands, styles)
        fit_scale(ax, [band.mean for band in bands.values()])
        if ax.get_yscale() == "linear":
            layout.plain_ticks(ax.yaxis)
        layout.steps_axis(ax, end, group.steps_per_task)
        ax.grid(axis="y", color="#eeeeee", linewidth=0.5)
        layout.title(ax, name)
        panels.append(Panel.of(ax, name, ("steps", name), series))
    return Figure(
        KIND,
        f"{KIND}-{slug(group.sequence)}",
        f"Over a task switch: {group.tasks[0]}, then {group.tasks[1]}",
        f"Losses, and the mean Q of the task in training, during the first two tasks of "
        f"{group.sequence}; methods that normalise have losses of another scale. "
        + seeds_in_words([group]),
        figure,
        tuple(panels),
    )
