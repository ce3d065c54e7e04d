"""The format of a policy file (.npz): named layers, and what is needed to act with them.

    format, recall_version                      versions of this format and of the package
    method, run, seed                           what was trained
    tasks                                       names of the run's tasks, by position
    reward, observation, horizon_steps          the environment (0: the world's own horizon)
    observation_size, action_size, hidden, activation, shared_layers    the network
    task_K/bias_0, task_K/kernel_0, ...         layers that act on task K, float32

Files in archives are compact: format 2. The kernels between hidden layers, which are most of the
numbers, have the type `dtype`: float16. The other layers are small, and the LayerNorm amplifies an
error in the first one, so they stay float32. Layers that are the same for all tasks of a file are
stored once, as shared/bias_0 and so on; `positions` are those tasks. The reader returns float32.

All arrays are plain, so any program that reads NumPy's format can use the file, without pickle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recall.collect.policy import PolicyShape
from recall.errors import BadValueError
from recall.files.reading import open_npz
from recall.version import version

Array = np.ndarray
FORMAT, COMPACT_FORMAT = 1, 2
_DTYPES = {FORMAT: ("float32",), COMPACT_FORMAT: ("float16", "float32")}
_SHARED = "shared"
_LONGEST_REASON = 160  # characters of an error's message


class DamagedPolicyError(BadValueError):
    """A file is no policy file, or is damaged."""


@dataclass(frozen=True)
class PolicyInfo:
    """What a run's policy files say besides the layers."""

    method: str
    run: str
    seed: int
    tasks: tuple[str, ...]
    reward: str
    observation: str
    horizon_steps: int | None
    shape: PolicyShape
    recall_version: str | None = None  # of the package that trained it; None: this one


def pack(info: PolicyInfo, vectors: Mapping[int, Array]) -> dict[str, Array]:
    """Return the arrays of a file; `vectors` maps positions of tasks to flat policies [size]."""
    shape = info.shape
    values: dict[str, Any] = {
        "format": FORMAT,
        "recall_version": info.recall_version or version(),
        "method": info.method,
        "run": info.run,
        "seed": info.seed,
        "tasks": info.tasks,
        "reward": info.reward,
        "observation": info.observation,
        "horizon_steps": info.horizon_steps or 0,
        "observation_size": shape.observation_size,
        "action_size": shape.action_size,
        "hidden": shape.hidden,
        "activation": shape.activation,
        "shared_layers": shape.shared_layers,
    }
    arrays = {name: np.asarray(value) for name, value in values.items()}
    for position, vector in vectors.items():
        for name, layer in shape.layers(vector).items():
            arrays[f"task_{position}/{name}"] = layer
    return arrays


def pack_compactly(info: PolicyInfo, vectors: Mapping[int, Array]) -> dict[str, Array]:
    """Return the arrays of a compact file, which takes half the bytes of another or less.

    If a number is beyond the range of float16, all layers stay float32.
    """
    packed = pack(info, vectors)
    kernels = [f"kernel_{layer}" for layer in range(1, len(info.shape.hidden))]
    largest = max(
        (np.abs(packed[f"task_{p}/{n}"]).max() for p in vectors for n in kernels), default=0
    )
    dtype = np.dtype(np.float16 if largest <= np.finfo(np.float16).max else np.float32)
    arrays = {name: array for name, array in packed.items() if not name.startswith("task_")}
    arrays |= {"format": np.asarray(COMPACT_FORMAT), "dtype": np.asarray(dtype.name)}
    arrays["positions"] = np.asarray(sorted(vectors))
    for name in info.shape.layer_shapes():
        kind = dtype if name in kernels else np.dtype(np.float32)
        own = {position: packed[f"task_{position}/{name}"].astype(kind) for position in vectors}
        first = next(iter(own.values()))
        if len(own) > 1 and all(np.array_equal(first, other) for other in own.values()):
            arrays[f"{_SHARED}/{name}"] = first
        else:
            arrays |= {f"task_{position}/{name}": layer for position, layer in own.items()}
    return arrays


def read_policy_file(
    path: Path, positions: Iterable[int] | None = None
) -> tuple[PolicyInfo, dict[int, Array]]:
    """Read a policy file; return its info and the flat policies of its tasks by position.

    `positions` selects tasks; None returns all that the file holds.
    """
    try:
        with open_npz(path) as stored:
            version = int(stored["format"]) if "format" in stored.files else None
            if version not in _DTYPES:
                raise BadValueError(
                    f"{path} has format {version}, this version of recall reads "
                    f"{' and '.join(map(str, _DTYPES))}: "
                    "train again, or use the version that wrote it"
                )
            info = _info(stored)
            held = _positions(stored)
            if any(not 0 <= position < len(info.tasks) for position in held):
                raise ValueError(f"it has policies of more than its {len(info.tasks)} tasks")
            chosen = sorted(held) if positions is None else list(positions)
            for position in chosen:
                if position not in held:
                    raise BadValueError(f"{path} has no policy of the task at position {position}")
            dtypes = _DTYPES[version]
            return info, {each: _vector(stored, info, each, dtypes) for each in chosen}
    except BadValueError:
        raise
    except Exception as error:  # a damaged file can make zipfile and NumPy raise anything
        # zipfile quotes as much of the file as it took for a name.
        reason = str(error)[:_LONGEST_REASON]
        raise DamagedPolicyError(
            f"{path} is no policy file, or is damaged ({reason}): restore it from a copy"
        ) from error


def _positions(stored: Any) -> set[int]:
    """Return the positions of the tasks that a file has policies of."""
    if "positions" in stored.files:
        return {int(position) for position in stored["positions"]}
    return {int(name[5:].split("/")[0]) for name in stored.files if name[:5] == "task_"}


def _info(stored: Any) -> PolicyInfo:
    def text(name: str) -> str:
        return str(stored[name][()])

    def number(name: str) -> int:
        return int(stored[name])

    shape = PolicyShape(
        number("observation_size"),
        number("action_size"),
        tuple(int(width) for width in stored["hidden"]),
        text("activation"),
        number("shared_layers"),
    )
    return PolicyInfo(
        text("method"),
        text("run"),
        number("seed"),
        tuple(str(task) for task in stored["tasks"]),
        text("reward"),
        text("observation"),
        number("horizon_steps") or None,
        shape,
        text("recall_version"),
    )


def _vector(stored: Any, info: PolicyInfo, position: int, dtypes: tuple[str, ...]) -> Array:
    """Return the flat policy of a task in float32, from layers of one of the types `dtypes`."""
    layers = []
    for name, shape in info.shape.layer_shapes().items():
        shared = f"{_SHARED}/{name}"
        layer = stored[shared if shared in stored.files else f"task_{position}/{name}"]
        if layer.shape != shape or layer.dtype not in dtypes:
            raise ValueError(
                f"layer {name} of task {position} is {layer.dtype} {layer.shape}, "
                f"expected {' or '.join(dtypes)} {shape}"
            )
        layers.append(layer.ravel())
    return np.concatenate(layers).astype(np.float32, copy=False)
