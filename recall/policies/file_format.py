"""The format of a policy file (.npz): named layers, and what is needed to act with them.

docs/policies.md lists the arrays. Files in archives are compact, format 2: the kernels between
hidden layers, which are most of the numbers, are float16. The other layers are small, and the
LayerNorm amplifies an error in the first one, so they stay float32. The reader returns float32.

All arrays are plain, so any program that reads NumPy's format can use the file, without pickle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from recall.collect.policy import PolicyShape
from recall.errors import BadValueError
from recall.files.reading import open_npz
from recall.version import version

Array = np.ndarray
FORMAT, COMPACT_FORMAT = 1, 2
_DTYPES = {FORMAT: ("float32",), COMPACT_FORMAT: ("float16", "float32")}
_SHARED = "shared"
_MOST_TASKS = 10**6
_FACTS = (
    *("format", "recall_version", "method", "run", "seed", "tasks", "reward", "observation"),
    *("horizon_steps", "observation_size", "action_size", "hidden", "activation", "shared_layers"),
)


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
    facts = {"format": FORMAT, **vars(info), **vars(info.shape)}
    facts["recall_version"] = info.recall_version or version()
    facts["horizon_steps"] = info.horizon_steps or 0
    arrays = {name: np.asarray(facts[name]) for name in _FACTS}
    for position, vector in vectors.items():
        for name, layer in info.shape.layers(vector).items():
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
                    f"{FORMAT} and {COMPACT_FORMAT}: use the version that wrote it"
                )
            info = _info(stored)
            held = _positions(stored)
            if any(not 0 <= position < len(info.tasks) for position in held):
                raise ValueError(f"it has policies of more than its {len(info.tasks)} tasks")
            chosen = sorted(held) if positions is None else list(positions)
            if lost := set(chosen) - held:
                raise BadValueError(f"{path} has no policy of the task at position {min(lost)}")
            return info, {each: _vector(stored, info, each, _DTYPES[version]) for each in chosen}
    except BadValueError:
        raise
    except Exception as error:  # a damaged file can make zipfile and NumPy raise anything
        # zipfile quotes as much of the file as it took for a name.
        raise BadValueError(
            f"{path} is no policy file, or is damaged ({error!s:.160}): restore it from a copy"
        ) from error


def _positions(stored: Any) -> set[int]:
    """Return the positions of the tasks that a file has policies of."""
    if "positions" in stored.files:
        return {int(position) for position in stored["positions"]}
    return {int(name[5:].split("/")[0]) for name in stored.files if name[:5] == "task_"}


def _info(stored: Any) -> PolicyInfo:
    arrays = {name: stored[name] for name in _FACTS}
    if max(each.size for each in arrays.values()) > _MOST_TASKS:  # empty texts take no bytes
        raise ValueError(f"one of its facts has more than {_MOST_TASKS:,} values")
    facts = {name: each.tolist() for name, each in arrays.items()}
    facts |= {name: tuple(facts[name]) for name in ("tasks", "hidden")}
    facts["horizon_steps"] = facts["horizon_steps"] or None
    return msgspec.convert(facts | {"shape": facts}, PolicyInfo)


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
