import os
import re
import subprocess
import sys

import pytest

from recall.config.resolve import resolve
from recall.errors import BadValueError, UnknownNameError
from recall.settings import WorldSettings
from recall.worlds.env import make
from recall.worlds.registry import (
    default_horizon_steps,
    horizon_steps,
    task_names,
    tasks_of,
    world_of,
)
from tests.factories.environments import counter


def test_every_name_is_unique_and_leads_back_to_its_world():
    names = task_names()
    assert len(names) == len(set(names)) >= 14
    for world in {world_of(name) for name in names}:
        assert {world_of(task) for task in tasks_of(world)} == {world}
    with pytest.raises(UnknownNameError, match=r"did you mean 'window-close'\?.*gym:<id>"):
        world_of("window-clos")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"reward": "v3"}, ("reward 'v3'", "v1, v2")),
        ({"observation": "clasic"}, ("observation 'clasic'", "mean 'classic'", "full")),
        ({"horizon": 0}, ("horizon_steps is 0", "at least 1")),
    ],
)
def test_bad_settings_are_refused_also_where_they_change_nothing(bad, words):
    for task in ("push", "gym:Pendulum-v1"):
        with pytest.raises((UnknownNameError, BadValueError)) as caught:
            make(task, **bad)
        assert all(word in str(caught.value) for word in words)


def test_a_horizon_is_the_users_or_else_the_worlds():
    assert default_horizon_steps("window-close") == 200
    assert default_horizon_steps("gym:MountainCarContinuous-v0") == 999
    assert horizon_steps("window-close", WorldSettings(horizon_steps=30)) == 30
    with pytest.raises(BadValueError, match=r"counter declares no time limit") as caught:
        default_horizon_steps(counter)
    (for_make,) = re.findall(r"(\w+)=200 to recall.make ", str(caught.value))
    make(counter, **{for_make: 200}).close()
    (for_train,) = re.findall(r"(\w+)=200 to recall.train", str(caught.value))
    world = resolve("recall", [counter], changes={for_train: 200}).settings.world
    assert world.horizon_steps == 200


def test_names_are_listed_without_loading_mujoco_or_jax():
    program = """
import sys
import recall
from recall.worlds.registry import task_names
from recall.worlds.sequences import sequence_names
task_names(), sequence_names()
print([name for name in ("mujoco", "jax", "metaworld") if name in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert shown.stdout.decode().strip() == "[]"


def test_importing_the_package_imports_no_plugin(tmp_path):
    """Only naming a plug-in, or listing all names, imports it."""
    (tmp_path / "noisy.py").write_text("print('imported')")
    about = tmp_path / "noisy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[recall.worlds]\nnoisy = noisy\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    for program, told in (
        ("import recall", ""),
        ("from recall.worlds.registry import task_names; task_names()", "imported"),
    ):
        shown = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True, env=os.environ | {"PYTHONPATH": path}, text=True, check=True,
        )  # fmt: skip
        assert shown.stdout.strip() == told
