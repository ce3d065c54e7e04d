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
    [("cw20", ["average_success", "transfer_areas"]), ("cw3-1", ["seeds", "training"])],
)
def test_nothing_is_cut_off_and_titles_do_not_overlap(sequence, kinds):
    six = ("fine_tuning", "ewc", "packnet", "clonex", "perfect_memory", "recall")
    scene = Scene(made_collection(six, [sequence], seeds=1, records=True))
    for found in all_figures(scene, kinds):
        figure = found.figure
        whole, width, height = figure.get_tightbbox(), *figure.get_size_inches()
        assert min(whole.x0, whole.y0, width - whole.x1, height - whole.y1) >= -0.01, found.name
        texts = [axes._left_title for axes in figure.axes]
        texts += [text for legend in figure.legends for text in legend.get_texts()]
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2)), found.name
