"""Offscreen rendering, with a search for a working GL backend, which MuJoCo does not do."""

import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from typing import Any

import mujoco
import numpy as np

from recall.errors import RecallError
from recall.plugins.python_process import python_command
from recall.worlds.simulator import Array

_NO_GL = (
    "no picture: MuJoCo cannot draw here ({}). Install a GL library, for example by "
    "`apt-get install libegl1 libgl1-mesa-dri` or `apt-get install libosmesa6`; the environment "
    "variable MUJOCO_GL (egl, osmesa or glfw) chooses one."
)
_LINUX_BACKENDS = ("egl", "osmesa")
_MAX_GEOMS = 2000


class Offscreen:
    """Offscreen renderer of one model.

    `mujoco.Renderer` is not used because it reads its backend from MUJOCO_GL when mujoco is first
    imported, and uses a window system if that variable was not set.
    """

    def __init__(self, model: mujoco.MjModel, width: int, height: int):
        try:
            self._gl = _context_class()(width, height)
            self._gl.make_current()
        except (AttributeError, ImportError, OSError, RuntimeError) as error:
            raise RecallError(_NO_GL.format(error)) from error
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._area = mujoco.MjrRect(0, 0, width, height)
        self.scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)

    def draw(self) -> Array:
        """Return the scene as an RGB image, [height, width, 3] uint8."""
        self._gl.make_current()
        picture = np.empty((self._area.height, self._area.width, 3), np.uint8)
        mujoco.mjr_render(self._area, self.scene, self._context)
        mujoco.mjr_readPixels(picture, None, self._area, self._context)
        return np.ascontiguousarray(picture[::-1])  # GL counts rows from the bottom

    def close(self) -> None:
        """Free the context."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()


@cache
def _context_class() -> Any:
    """Return the GL context class of the first backend that works.

    This is the one in MUJOCO_GL if set, else EGL, else OSMesa; on macOS it is the system's own.
    """
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
