"""Long sequences and many methods still fit: nothing is cut off, nothing overlaps."""

from recall.report.figures import Scene, all_figures
from tests.factories.runs import made_collection


def inside(text, figure, renderer):
    box = text.get_window_extent(renderer)
    width, height = figure.canvas.get_width_height()
    return box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1


def test_nothing_is_cut_off_or_overlaps_with_twenty_tasks_and_six_methods():
    six = ("fine_tuning", "ewc", "packnet", "clonex", "perfect_memory", "recall")
    scene = Scene(made_collection(six, ["cw20"], seeds=1))
    for kind in ("average_success", "task_curves"):
        figure = next(iter(all_figures(scene, [kind]))).figure
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        texts = [t for axes in figure.axes for t in (axes.xaxis.label, *axes.texts)]
        titles = [axes._left_title for axes in figure.axes]
        ticks = [t for axes in figure.axes for t in axes.get_xticklabels() if t.get_text()]
        shown = [t for t in (*texts, *titles, *ticks, *figure.texts) if t.get_text()]
        assert all(inside(text, figure, renderer) for text in shown)
        upright = [t.get_window_extent(renderer) for t in (*titles, *ticks, *figure.texts)]
        upright = [box for box in upright if box.width > 1]
        clashes = [(a, b) for i, a in enumerate(upright) for b in upright[:i] if a.overlaps(b)]
        assert not clashes
