"""MuJoCo models of the `metaworld` package, reduced to what physics needs."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from recall.errors import RecallError
from recall.worlds.continual_world.tasks.task import Task
from recall.worlds.simulator import Array

SUBSTEPS = 5
STATE = mujoco.mjtState.mjSTATE_INTEGRATION  # everything that determines the following steps
_SETTLE_SUBSTEPS = 50 * SUBSTEPS
HAND_DOWN = np.array([1.0, 0.0, 1.0, 0.0])
GRIPPER_OPEN = np.array([-1.0, 1.0])
# A weld without offset; quaternion and torque scale as Meta-World sets them.
_WELD = np.array([0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 5], np.float64)


class Settled(NamedTuple):
    """Hand at its start: MuJoCo's state, its joints, and the joints one substep earlier."""

    state: Array
    joints: Array
    joints_before: Array


def model_path(task: Task) -> str:
    """Return the path of the task's model, without importing `metaworld`."""
    package = find_spec("metaworld")
    if package is None or not package.submodule_search_locations:
        raise RecallError("the models of Continual World are in metaworld: pip install metaworld")
    path = Path(package.submodule_search_locations[0], "assets", "sawyer_xyz", task.model)
    if not path.is_file():
        raise RecallError(f"{task.name} needs {path}, which this version of metaworld lacks")
    return str(path)


def _weld_hand(model: mujoco.MjModel) -> mujoco.MjModel:
    # Newer MuJoCo has one more number for other constraints at the end of each row.
    model.eq_data[model.eq_type == mujoco.mjtEq.mjEQ_WELD, : len(_WELD)] = _WELD
    return model


def load_visual(task: Task) -> mujoco.MjModel:
    """Return the whole model, for images."""
    return _weld_hand(mujoco.MjModel.from_xml_path(model_path(task)))


@cache
def load_physics(name: str) -> mujoco.MjModel:
    """Return the model without the parts that only images need.

    It steps faster, with bit for bit the same results: MuJoCo clears one byte per node of every
    mesh in each collision pass, even of meshes that are only visual.
    """
    from recall.worlds.continual_world.tasks import load_task

    task = load_task(name)
    spec = mujoco.MjSpec.from_file(model_path(task))
    geoms = list(spec.geoms)
    read = {source.name for source in (task.object, task.turned, *task.reads.values()) if source}
    for geom in geoms:
        meets = any(
            geom.contype & other.conaffinity or other.contype & geom.conaffinity
            for other in geoms
            if other is not geom
        )
        if not meets and geom.name not in read:
            _delete(spec, geom)
        else:
            geom.material = ""
    used_meshes = {geom.meshname for geom in spec.geoms}
    unused_meshes = [mesh for mesh in spec.meshes if mesh.name not in used_meshes]
    pictures = (spec.cameras, spec.lights, spec.materials, spec.textures)
    for element in (*unused_meshes, *(element for kind in pictures for element in list(kind))):
        _delete(spec, element)
    return _weld_hand(spec.compile())


def _delete(spec: mujoco.MjSpec, element: Any) -> None:
    """Delete an element: since MuJoCo 3.3.3 the spec does this, before that the element itself."""
    if hasattr(element, "delete"):
        element.delete()
    else:
        spec.delete(element)


def settle(model: mujoco.MjModel, data: mujoco.MjData, task: Task) -> Array:
    """Move the hand to its start and return the joints one substep before the end."""
    mujoco.mj_resetData(model, data)
    data.mocap_pos[0] = task.hand_start
    data.mocap_quat[0] = HAND_DOWN
    data.ctrl[:] = GRIPPER_OPEN
    mujoco.mj_step(model, data, nstep=_SETTLE_SUBSTEPS - 1)
    joints_before = data.qpos.copy()
    mujoco.mj_step(model, data)
    return joints_before


@cache
def settled(name: str) -> Settled:
    """Return the settled hand, computed once per process and task.

    It does not depend on the position of the fixture.
    """
    from recall.worlds.continual_world.tasks import load_task

    model = load_physics(name)
    data = mujoco.MjData(model)
    joints_before = settle(model, data, load_task(name))
    state = np.zeros(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, data, state, STATE)
    return Settled(state, data.qpos.copy(), joints_before)
