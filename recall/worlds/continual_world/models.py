"""The MuJoCo models of the tasks (see `assets/README.md`) and their physics alone."""

from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from recall.worlds.continual_world.task import Task
from recall.worlds.continual_world.tasks import load_task

_MODELS = Path(__file__).parent / "assets" / "sawyer_xyz"
SUBSTEPS = 5  # in a step of an episode
CAMERAS = ("topview", "corner", "corner2", "corner3", "corner4", "behindGripper", "gripperPOV")
STATE = mujoco.mjtState.mjSTATE_INTEGRATION  # everything that determines the following steps
# A weld without offset; quaternion and torque scale as Meta-World sets them.
_WELD = np.array([0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 5], np.float64)


def _as_meta_world(model: mujoco.MjModel) -> mujoco.MjModel:
    # Newer MuJoCo has one more number for other constraints at the end of each row.
    model.eq_data[model.eq_type == mujoco.mjtEq.mjEQ_WELD, : len(_WELD)] = _WELD
    # From 3.7 on, MuJoCo finds several contacts of two meshes unless told not to.
    several_contacts = getattr(mujoco.mjtDisableBit, "mjDSBL_MULTICCD", 0)
    model.opt.disableflags |= int(several_contacts)
    return model


def load_visual(task: Task) -> mujoco.MjModel:
    """Return the whole model, for images."""
    return _as_meta_world(mujoco.MjModel.from_xml_path(str(_MODELS / task.model)))


@cache
def load_physics(name: str) -> mujoco.MjModel:
    """Return the model without the parts that only images need.

    It steps faster, with bit for bit the same results: MuJoCo clears one byte per node of every
    mesh in each collision pass, even of meshes that are only visual.
    """
    task = load_task(name)
    spec = mujoco.MjSpec.from_file(str(_MODELS / task.model))
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
    return _as_meta_world(spec.compile())


def _delete(spec: mujoco.MjSpec, element: Any) -> None:
    """Delete an element: since MuJoCo 3.3.3 the spec does this, before that the element itself."""
    if hasattr(element, "delete"):
        element.delete()
    else:
        spec.delete(element)
