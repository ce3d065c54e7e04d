"""A figure of one's own: the share of a sequence's tasks that a policy has learned, over steps.

recall report runs --plugin examples/learned_tasks_figure.py
"""

from collections.abc import Iterator

from recall.report.figures import Figure, Scene, Skipped, family_figures, register_figure

KIND = "learned_tasks"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per family of sequences."""
    yield from family_figures(
        scene,
        KIND,
        "Learned tasks",
        "Share of tasks with a success rate above one half.",
        lambda run: (run.steps, (scene.successes(run) > 0.5).mean(axis=1)),
        name="share of tasks",
    )


register_figure(KIND, make_figures)
