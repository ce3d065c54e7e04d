"""Which figures there are for a collection, and the files they are written to."""

import dataclasses

import pytest
from PIL import Image

from recall.analysis.collection import Collection
from recall.errors import UnknownNameError
from recall.report.figures import FIGURES, FORMATS, Scene, Skipped, all_figures, draw_all
from tests.factories.runs import made_collection, made_run


@pytest.fixture(scope="module")
def scene():
    return Scene(made_collection(["fine_tuning", "recall"], ["cw3-1", "cw3-2"], seeds=3))


def test_nothing_to_draw_is_told_for_every_kind():
    for collection in (Collection(()), Collection((made_run("fine_tuning", "push", 0),))):
        found = list(all_figures(Scene(collection)))
        assert [skipped.kind for skipped in found] == list(FIGURES)
        assert all(isinstance(skipped, Skipped) and skipped.reason for skipped in found)


def test_only_the_first_sequences_of_a_family_have_figures_of_their_own(scene):
    found = list(all_figures(dataclasses.replace(scene, detailed=1), ["task_curves"]))
    assert found[0].name == "task_curves-cw3-1"
    assert "cw3-2" in found[1].reason
    assert len(list(all_figures(dataclasses.replace(scene, detailed=None), ["task_curves"]))) == 2


def test_unknown_kinds_are_refused(scene):
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
        assert image.width == 1540  # seven inches
    again = draw_all(scene.collection, tmp_path / "b", kinds=few)
    for kind, path in drawn.paths.items():
        assert path.read_bytes() == again.drawn[0].paths[kind].read_bytes()
