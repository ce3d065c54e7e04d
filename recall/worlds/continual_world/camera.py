"""Images of the tasks, drawn offscreen with the first GL backend that works."""

import atexit
import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from typing import Any
from weakref import WeakSet

import mujoco
import numpy as np

from recall.errors import RecallError
from recall.plugins.python_process import python_command
from recall.worlds.continual_world.models import load_visual
from recall.worlds.continual_world.task import Task
from recall.worlds.simulator import Array

_NO_GL = (
    "no picture: MuJoCo cannot draw here ({}). Install a GL library, for example by "
    "`apt-get install libegl1 libgl1-mesa-dri` or `apt-get install libosmesa6`; the environment "
    "variable MUJOCO_GL (egl, osmesa or glfw) chooses one."
)
_LINUX_BACKENDS = ("egl", "osmesa")
_MAX_GEOMS = 2000

# Without a name, the camera looks at the middle of the table from the front right, as in
# Meta-World's films.
_LOOK_AT = (0.03, 0.74, 0.15)
_DISTANCE, _AZIMUTH, _ELEVATION = 1.1, 140.0, -30.0
_GOAL_COLOUR = (0.1, 1.0, 0.2, 0.9)
_GOAL_RADIUS = 0.025
_SHADOW_PIXELS = 1024


class Camera:
    """Offscreen camera for the slots of one task: it draws the whole model.

    `mujoco.Renderer` is not used because it reads its backend from MUJOCO_GL when mujoco is first
    imported, and uses a window system if that variable was not set.
    """

    def __init__(self, task: Task, width: int, height: int, name: str | None):
        self.view = (width, height, name)
        self._fixture = task.fixture
        model = self._model = load_visual(task)
        self._data = mujoco.MjData(model)
        model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
        model.vis.global_.offheight = max(height, model.vis.global_.offheight)
        # Looks the same as 4096, and without a GPU it saves a third of the time.
        model.vis.quality.shadowsize = _SHADOW_PIXELS
        self._view = mujoco.MjvCamera()
        if name is None:
            self._view.lookat[:] = _LOOK_AT
            self._view.distance = _DISTANCE
            self._view.azimuth, self._view.elevation = _AZIMUTH, _ELEVATION
        else:
            self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
            self._view.fixedcamid = model.camera(name).id
        self._options = mujoco.MjvOption()
        self._options.sitegroup[:] = 0  # hidden, since Meta-World's markers do not follow the goal
        try:
            self._gl = _context_class()(width, height)
            self._gl.make_current()
        except (AttributeError, ImportError, OSError, RuntimeError) as error:
            raise RecallError(_NO_GL.format(error)) from error
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._area = mujoco.MjrRect(0, 0, width, height)
        self._scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        _open.add(self)
        _close_all_at_exit()

    def picture(self, physics: mujoco.MjData, fixture_at: Array, goal: Array) -> Array:
        """Return an RGB image of the physics, [height, width, 3] uint8."""
        model, data, scene = self._model, self._data, self._scene
        if self._fixture is not None:
            model.body(self._fixture.body).pos = fixture_at
        data.qpos[:] = physics.qpos
        data.mocap_pos[:], data.mocap_quat[:] = physics.mocap_pos, physics.mocap_quat
        mujoco.mj_forward(model, data)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(model, data, self._options, None, self._view, everything, scene)
        mujoco.mjv_initGeom(
            scene.geoms[scene.ngeom],
            mujoco.mjtGeom.mjGEOM_SPHERE,
            np.full(3, _GOAL_RADIUS),
            np.asarray(goal, np.float64),
            np.eye(3).reshape(-1),
            np.array(_GOAL_COLOUR, np.float32),
        )
        scene.ngeom += 1
        self._gl.make_current()
        picture = np.empty((self._area.height, self._area.width, 3), np.uint8)
        mujoco.mjr_render(self._area, scene, self._context)
        mujoco.mjr_readPixels(picture, None, self._area, self._context)
        return np.ascontiguousarray(picture[::-1])  # GL counts rows from the bottom

    def close(self) -> None:
        """Free the context."""
        _open.discard(self)
        self._gl.make_current()
        self._context.free()
        self._gl.free()


# Cameras that nobody has closed. A context that outlives its backend prints a traceback.
_open: WeakSet[Camera] = WeakSet()


def _close_all() -> None:
    for camera in list(_open):
        camera.close()


@cache
def _close_all_at_exit() -> None:
    """Call it after the first context is made, so that it runs before the backend's own exit."""
    atexit.register(_close_all)


@cache
def _context_class() -> Any:
    """Return the GL context class of MUJOCO_GL if set, else of the first backend that works."""
    chosen = os.environ.get("MUJOCO_GL", "")
    if chosen or not sys.platform.startswith("linux"):
        return import_module("mujoco.gl_context").GLContext
    reasons = []
    for backend in _LINUX_BACKENDS:
        reason = _why_not(backend)
        if reason is None:
            os.environ["MUJOCO_GL"] = backend  # MuJoCo's own loader reads it on first use
            return import_module(f"mujoco.{backend}").GLContext
        reasons.append(f"{backend}: {reason}")
    raise RecallError(_NO_GL.format("; ".join(reasons)))


def _why_not(backend: str) -> str | None:
    """Return why a backend does not work, or None if it does.

    It is tried in a separate process: once loaded, a broken backend would break the next one.
    """
    command = python_command(
        f"from mujoco.{backend} import GLContext", "GLContext(8, 8).make_current()"
    )
    environment = {**os.environ, "MUJOCO_GL": backend}
    tried = subprocess.run(command, env=environment, capture_output=True, text=True)
    if tried.returncode == 0:
        return None
    errors = [line for line in tried.stderr.splitlines() if "Error" in line]
    return errors[-1] if errors else f"exit status {tried.returncode}"
