"""Images of the tasks.

`python -m recall.worlds.continual_world.camera OUT.png` makes a contact sheet of all tasks.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

from recall.worlds.continual_world.models import load_visual
from recall.worlds.continual_world.offscreen import Offscreen
from recall.worlds.continual_world.scripted import ScriptedPolicy
from recall.worlds.continual_world.tasks.task import Task
from recall.worlds.simulator import Array

# The camera looks at the middle of the table from the front right, as in Meta-World's films.
_LOOK_AT = (0.03, 0.74, 0.15)
_DISTANCE, _AZIMUTH, _ELEVATION = 1.1, 140.0, -30.0
_GOAL_COLOUR = (0.1, 1.0, 0.2, 0.9)
_GOAL_RADIUS = 0.025
_SHADOW_PIXELS = 1024
# Number of steps after which the image of a task is taken for the contact sheet.
_SHEET_STEPS = {"hammer": 60, "push-wall": 45, "push-back": 75, "stick-pull": 90, "shelf-place": 72}


class Camera:
    """Camera for the slots of one task: it draws the whole model in the state of the physics."""

    def __init__(self, task: Task, width: int, height: int):
        self.size = (width, height)
        self._fixture = task.fixture
        self._model = load_visual(task)
        self._data = mujoco.MjData(self._model)
        self._model.vis.global_.offwidth = max(width, self._model.vis.global_.offwidth)
        self._model.vis.global_.offheight = max(height, self._model.vis.global_.offheight)
        # Looks the same as 4096, and without a GPU it saves a third of the time.
        self._model.vis.quality.shadowsize = _SHADOW_PIXELS
        self._view = mujoco.MjvCamera()
        self._view.lookat[:] = _LOOK_AT
        self._view.distance = _DISTANCE
        self._view.azimuth, self._view.elevation = _AZIMUTH, _ELEVATION
        self._offscreen = Offscreen(self._model, width, height)
        self._options = mujoco.MjvOption()
        self._options.sitegroup[:] = 0  # hidden, since Meta-World's markers do not follow the goal

    def picture(self, physics: mujoco.MjData, fixture_at: Array, goal: Array) -> Array:
        """Return an RGB image of the physics, [height, width, 3] uint8."""
        if self._fixture is not None:
            self._model.body(self._fixture.body).pos = fixture_at
        self._data.qpos[:] = physics.qpos
        self._data.mocap_pos[:], self._data.mocap_quat[:] = physics.mocap_pos, physics.mocap_quat
        mujoco.mj_forward(self._model, self._data)
        scene = self._offscreen.scene
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            self._model, self._data, self._options, None, self._view, everything, scene
        )
        mujoco.mjv_initGeom(
            scene.geoms[scene.ngeom],
            mujoco.mjtGeom.mjGEOM_SPHERE,
            np.full(3, _GOAL_RADIUS),
            np.asarray(goal, np.float64),
            np.eye(3).reshape(-1),
            np.array(_GOAL_COLOUR, np.float32),
        )
        scene.ngeom += 1
        return self._offscreen.draw()

    def close(self) -> None:
        """Release the memory of the image."""
        self._offscreen.close()


def contact_sheet(path: Path, width: int = 320, height: int = 256) -> None:
    """Save an image of all ten tasks while they are being solved, five by two, with their names.

    Meta-World's scripted policies act, so this imports `metaworld`.
    """
    from matplotlib.figure import Figure
    from PIL import Image

    from recall.worlds.continual_world import TASKS

    figure = Figure(figsize=(5 * 2.1, 2 * 1.95), layout="constrained")
    for axes, task in zip(figure.subplots(2, 5).flat, TASKS, strict=True):
        axes.imshow(_played(task, width, height))
        axes.set_title(task, fontsize=10)
        axes.set_axis_off()
    figure.savefig(path, dpi=130)
    Image.open(path).convert("RGB").save(path, optimize=True)  # half the size without alpha


def _played(task: str, width: int, height: int) -> Array:
    from recall.worlds.continual_world import make_simulator

    policy = ScriptedPolicy(task)
    simulator = make_simulator(task, 1, reward="v2", observation="full")
    observation = simulator.reset(0, np.random.default_rng(1))
    for _ in range(_SHEET_STEPS.get(task, 50)):
        observation = simulator.step(policy.act(observation)[None]).observation[0]
    picture = simulator.render(0, width, height)
    simulator.close()
    return picture


if __name__ == "__main__":
    contact_sheet(Path(sys.argv[1]))
