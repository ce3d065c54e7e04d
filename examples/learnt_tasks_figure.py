"""A figure of one's own: the share of the tasks of a sequence that a policy has learnt, over steps.

recall report runs --plugin examples/learnt_tasks_figure.py
"""

from collections.abc import Iterator

from recall.report.figures import Figure, Scene, Skipped, register_figure
from recall.report.figures.success import of_families

KIND = "learnt_tasks"


def make_figures(scene: Scene) -> Iterator[Figure | Skipped]:
    """Yield one figure per family of sequences."""
    yield from of_families(
        scene,
        KIND,
        "Learnt tasks",
        "Share of tasks with a success rate above one half.",
        lambda run: (run.steps, (scene.successes(run) > 0.5).mean(axis=1)),
        what="share of tasks",
    )


register_figure(KIND, make_figures)
