"""Which figures there are for a collection, how they are laid out, and the files they become."""

import dataclasses
from itertools import combinations

import pytest
from PIL import Image

from recall.analysis.collection import Collection
from recall.errors import UnknownNameError
from recall.report.figures import FIGURES, FORMATS, Scene, Skipped, all_figures, draw_all
from tests.factories.runs import made_collection, made_run


@pytest.fixture(scope="module")
def scene():
    return Scene(made_collection(["fine_tuning", "recall"], ["cw3-1", "cw3-2"], seeds=3))


def test_every_kind_says_why_there_is_nothing_to_draw():
    alone = Collection((made_run("fine_tuning", "push", 0),))
    for collection, drawn in ((Collection(()), []), (alone, ["task_curves"])):
        found = list(all_figures(Scene(collection)))
        assert [each.kind for each in found] == list(FIGURES)
        skipped = [each for each in found if isinstance(each, Skipped)]
        assert all(each.reason for each in skipped)
        assert [each.kind for each in found if each not in skipped] == drawn


def test_only_the_first_sequences_of_a_family_have_figures_of_their_own(scene):
    found = list(all_figures(dataclasses.replace(scene, detailed=1), ["task_curves"]))
    assert found[0].name == "task_curves-cw3-1"
    assert "cw3-2" in found[1].reason
    assert len(list(all_figures(dataclasses.replace(scene, detailed=None), ["task_curves"]))) == 2
    with pytest.raises(UnknownNameError, match="seeds"):
        list(all_figures(scene, ["seed"]))


def test_files_are_written_in_every_format_and_twice_the_same(scene, tmp_path):
    few = ["seeds", "pair_matrices"]
    gallery = draw_all(scene.collection, tmp_path / "a", kinds=few)
    assert [drawn.name for drawn in gallery] == ["seeds-cw3"]
    assert [skipped.kind for skipped in gallery.skipped] == ["pair_matrices"]
    (drawn,) = gallery
    assert set(drawn.paths) == set(FORMATS)
    assert drawn.paths["png"] == tmp_path / "a" / "seeds-cw3.png"
    with Image.open(drawn.paths["png"]) as image:
        assert image.width == 1485  # the width of a page's text
    again = draw_all(scene.collection, tmp_path / "b", kinds=few)
    for kind, path in drawn.paths.items():
        assert path.read_bytes() == again.drawn[0].paths[kind].read_bytes()


def test_a_paper_has_serif_fonts_and_the_same_widths(tmp_path):
    collection = made_collection(["ewc"], ["cw3-1"], seeds=2, singles=False)
    texts = {}
    for style in ("page", "paper"):
        (drawn,) = draw_all(
            collection, tmp_path / style, kinds=["seeds"], formats=("svg",), style=style
        )
        texts[style] = drawn.paths["svg"].read_text()
        assert f'width="{6.75 * 72:g}pt"' in texts[style]
    assert "DejaVuSans" in texts["page"]
    assert "DejaVuSans" not in texts["paper"]


@pytest.mark.parametrize(
    ("sequence", "kinds"),
    [
        ("cw20", ["average_success", "task_curves", "transfer_areas"]),
        ("cw3-1", ["seeds", "training"]),
    ],
)
def test_nothing_is_cut_off_or_overlaps(sequence, kinds):
    six = ("fine_tuning", "ewc", "packnet", "clonex", "perfect_memory", "recall")
    scene = Scene(made_collection(six, [sequence], seeds=1, records=True))
    for found in all_figures(scene, kinds):
        assert not isinstance(found, Skipped)
        found.figure.draw_without_rendering()  # places the legend
        width, height = found.figure.canvas.get_width_height()
        upright = []
        for text in shown_texts(found.figure):
            box, where = text.get_window_extent(), (found.name, text.get_text())
            assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1, where
            if text.get_rotation() in (0.0, 90.0):  # boxes of slanted texts are too large
                upright.append((box.shrunk(0.98, 0.8), where))
        for (box, where), (other, elsewhere) in combinations(upright, 2):
            assert not box.overlaps(other), (where, elsewhere)


def shown_texts(figure):
    """The visible texts of a figure: titles, names, numbers and entries of the legend."""
    panels = [*figure.axes, *(child for axes in figure.axes for child in axes.child_axes)]
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in panels:
        texts += [axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label]
        texts += axes.texts
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            low, high = sorted((low, high))
            texts += [t.label1 for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            texts += [t.label2 for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
    return [text for text in texts if text and text.get_visible() and text.get_text()]
