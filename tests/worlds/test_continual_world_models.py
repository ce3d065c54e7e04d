"""The models that come with the package."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from recall.worlds.continual_world import TASKS, models
from recall.worlds.continual_world.tasks import load_task

ASSETS = Path(models.__file__).parent / "assets"
THEIRS = Path(find_spec("metaworld").origin).parent / "assets"


def test_models_and_meshes_are_meta_worlds():
    shipped = [path for path in ASSETS.rglob("*") if path.suffix in (".xml", ".stl")]
    assert len(shipped) > 10
    for path in shipped:
        assert path.read_bytes() == (THEIRS / path.relative_to(ASSETS)).read_bytes(), path


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_all_that_its_pictures_need(task):
    model = models.load_visual(load_task(task))
    assert model.ntex
    assert {model.camera(i).name for i in range(model.ncam)} == set(models.CAMERAS)
