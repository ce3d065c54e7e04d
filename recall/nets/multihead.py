"""A multi-head network: layers that all tasks share (the trunk), then layers of each task's own.

One description covers every shape the paper needs. With four hidden layers, sharing all four
leaves linear heads (`shallow`: the actor, and the critic of every baseline), sharing one gives
heads with three hidden layers (`deep`: RECALL's critic), and sharing none gives each task a
network of its own (`separate`). The task number only ever selects a head.

Parameters are flat: `{"trunk": [size], "heads": [task, size]}`, layer after layer. A network is
then two arrays instead of dozens, so optimisers, targets, clipping and penalties are each one
pass over memory, and taking a task's head is one slice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from recall.nets import matmul

Array = jax.Array
Params = dict[str, Array]  # {"trunk": [size], "heads": [task, size]}

SLOPES = {"relu": 0.0, "leaky_relu": 0.2}  # of the activations, below 0
LAST_LAYER = "out"
HIDDEN = "hidden_outputs"


def _activate(x: Array, slope: float) -> Array:
    return nn.leaky_relu(x, slope) if slope else nn.relu(x)


class Rows(NamedTuple):
    """How the rows of a batch fall to the heads it uses. Static: each head multiplies one block.

    The first `new` rows belong to the last head, the current task's; then come `groups` groups of
    `group_size` rows, group i of head i.
    """

    new: int
    groups: int = 0
    group_size: int = 0

    @property
    def total(self) -> int:
        """All rows."""
        return self.new + self.groups * self.group_size

    def head_of_row(self) -> Array:
        """[total] the head of every row."""
        groups = np.arange(self.groups).repeat(self.group_size)
        return jnp.asarray(np.concatenate([np.full(self.new, self.groups), groups]))


class _HalfDense(nn.Module):
    """nn.Dense with its activation, in half precision where it is harmless (recall.nets.matmul)."""

    width: int
    slope: float | None = None

    @nn.compact
    def __call__(self, x: Array) -> Array:
        kernel = self.param("kernel", nn.initializers.zeros, (x.shape[-1], self.width))
        bias = self.param("bias", nn.initializers.zeros, (self.width,))
        return matmul.half_layer(x, kernel, bias, self.slope)


class _Layers(nn.Module):
    widths: tuple[int, ...]
    activation: str
    normalise_first: bool
    half_inputs: bool
    outputs: int | None = None

    @nn.compact
    def __call__(self, x: Array) -> Array:
        linear = _HalfDense if self.half_inputs else nn.Dense
        for layer, width in enumerate(self.widths):
            name = f"hidden_{layer:02}"
            if layer == 0 and self.normalise_first:
                x = nn.tanh(nn.LayerNorm(name="norm")(linear(width, name=name)(x)))
            elif self.half_inputs:
                x = _HalfDense(width, SLOPES[self.activation], name=name)(x)
            else:
                x = _activate(nn.Dense(width, name=name)(x), SLOPES[self.activation])
            self.sow(HIDDEN, HIDDEN, x)  # kept only for those who ask
        if self.outputs is None:
            return x
        return linear(self.outputs, name=LAST_LAYER)(x)


@dataclass(frozen=True)
class MultiHead:
    """A network with `inputs` numbers in, `outputs` out, for `tasks` tasks.

    LayerNorm and tanh follow the first hidden layer, `activation` the others.
    """

    inputs: int
    outputs: int
    tasks: int
    hidden: tuple[int, ...] = (256, 256, 256, 256)
    shared_layers: int = 4
    activation: str = "relu"
    half_inputs: bool = False
    """Whether matrix products round their inputs to bfloat16."""

    def _trunk(self) -> _Layers:
        shared = self.hidden[: self.shared_layers]
        return _Layers(shared, self.activation, True, self.half_inputs)

    def _head(self) -> _Layers:
        own = self.hidden[self.shared_layers :]
        first = self.shared_layers == 0
        return _Layers(own, self.activation, first, self.half_inputs, self.outputs)

    @property
    def features(self) -> int:
        """Numbers the trunk hands to a head."""
        return self.hidden[self.shared_layers - 1] if self.shared_layers else self.inputs

    def _trunk_shapes(self) -> Any:
        return _shapes(self._trunk(), self.inputs) if self.shared_layers else {}

    def _head_shapes(self) -> Any:
        return _shapes(self._head(), self.features)

    def init(self, key: Array) -> Params:
        """Fresh parameters, of all layers and heads in one draw: many draws compile slowly."""
        trunk, head = _init_scale(self._trunk_shapes()), _init_scale(self._head_shapes())
        split = trunk.spread.size
        drawn = jax.random.uniform(key, (split + self.tasks * head.spread.size,), minval=-1.0)
        return {
            "trunk": trunk.centre + trunk.spread * drawn[:split],
            "heads": head.centre + head.spread * drawn[split:].reshape(self.tasks, -1),
        }

    def trunk_tree(self, trunk: Array) -> Any:
        """The trunk's flat parameters as a tree of layers."""
        return _unravel(self._trunk_shapes(), trunk)

    def head_tree(self, head: Array) -> Any:
        """One head's flat parameters as a tree of layers; the last layer comes last."""
        return _unravel(self._head_shapes(), head)

    def trunk(self, params: Params, x: Array) -> Array:
        """[..., inputs] -> [..., features]."""
        if not self.shared_layers:
            return x
        features: Any = self._trunk().apply({"params": self.trunk_tree(params["trunk"])}, x)
        return features

    def apply(self, params: Params, x: Array, rows: Rows | Array) -> Array:
        """[n, inputs] -> [n, outputs], each row through its head.

        `rows` is either the static layout of the rows, or [n] the head of each row in any order;
        then every head sees every row and each row keeps one answer, which is cheap for linear
        heads and exact for all.
        """
        features, heads = self.trunk(params, x), params["heads"]
        if not isinstance(rows, Rows):
            answers = jax.vmap(self._one, in_axes=(0, None))(heads, features)  # [heads, n, out]
            return jnp.take_along_axis(answers, rows[None, :, None], axis=0)[0]
        new = self._one(heads[rows.groups], features[: rows.new])
        if not rows.groups:
            return new
        grouped = features[rows.new :].reshape(rows.groups, rows.group_size, -1)
        old = jax.vmap(self._one)(heads[: rows.groups], grouped)
        return jnp.concatenate([new, old.reshape(-1, self.outputs)])

    def _one(self, head: Array, features: Array) -> Array:
        answers: Any = self._head().apply({"params": self.head_tree(head)}, features)
        return answers

    def apply_head(self, params: Params, x: Array, task: Array | int) -> Array:
        """[n, inputs] -> [n, outputs], every row through the head of `task`."""
        one = take_heads(params, jnp.asarray(task)[None])
        return self.apply(one, x, Rows(x.shape[0]))

    def hidden_outputs(self, params: Params, x: Array, task: Array | int) -> list[Array]:
        """[n, width] of every hidden layer on the way to the head of `task`, in order."""
        found: list[Array] = []
        parts = []
        if self.shared_layers:
            parts.append((self._trunk(), self.trunk_tree(params["trunk"])))
        parts.append((self._head(), self.head_tree(params["heads"][task])))
        for layers, tree in parts:
            x, kept = layers.apply({"params": tree}, x, mutable=[HIDDEN])
            found += kept.get(HIDDEN, {}).get(HIDDEN, ())
        return found


@cache
def _shapes(layers: _Layers, inputs: int) -> Any:
    """The tree of a network's parameters, shapes only; nothing is computed, and traced once."""
    variables = jax.eval_shape(layers.init, jax.random.PRNGKey(0), jnp.zeros((1, inputs)))
    return variables["params"]


class _InitScale(NamedTuple):
    """Flat parameters start uniformly within `spread` of `centre`."""

    centre: Array
    spread: Array


def _init_scale(shapes: Any) -> _InitScale:
    """Glorot's rule for kernels; biases start at 0, the norm's scales at 1."""
    centre, spread = [jnp.zeros(0)], [jnp.zeros(0)]
    for path, leaf in jax.tree_util.tree_leaves_with_path(shapes):
        kind = path[-1].key
        limit = np.sqrt(6.0 / sum(leaf.shape)) if kind == "kernel" else 0.0
        centre.append(jnp.full(leaf.size, 1.0 if kind == "scale" else 0.0))
        spread.append(jnp.full(leaf.size, limit))
    return _InitScale(jnp.concatenate(centre), jnp.concatenate(spread))


def _unravel(shapes: Any, flat: Array) -> Any:
    """`flat` as a tree of these shapes."""
    leaves = jax.tree.leaves(shapes)
    if not leaves:
        return shapes
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = jnp.split(flat, ends)
    shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(shapes), shaped)


def is_head(path: tuple[Any, ...]) -> bool:
    """Whether a leaf at `path` has the task axis: it stands below a key named "heads"."""
    return any(getattr(key, "key", None) == "heads" for key in path)


Heads = Array | np.ndarray  # [k]; in NumPy where it is known beforehand and is 0, 1, ..., k - 1


def take_heads(tree: Any, heads: Heads) -> Any:
    """The tree with only `heads` on the task axis.

    Slices one by one: a few large slices are much cheaper than a gather.
    """

    def take(leaf: Array) -> Array:
        if isinstance(heads, np.ndarray):
            return leaf[: len(heads)]
        index = jax.lax.dynamic_index_in_dim
        return jnp.stack([index(leaf, head, keepdims=False) for head in heads])

    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: take(leaf) if is_head(path) else leaf, tree
    )


def map_heads(
    function: Callable[..., tuple[Array, ...]],
    leaves: tuple[Array, ...],
    inputs: tuple[Array, ...],
    heads: Heads,
) -> tuple[Array, ...]:
    """Rewrite `heads` of `leaves` [task, ...] and leave the others alone, in place if possible.

    `function` gets blocks [k, ...] of every leaf, then of every input (which are [heads, ...]),
    and returns the leaves' new blocks.
    """
    count = len(heads)
    if isinstance(heads, np.ndarray):
        new = function(*(leaf[:count] for leaf in leaves), *inputs)
        if count == leaves[0].shape[0]:
            return new
        start = jax.lax.dynamic_update_slice_in_dim
        return tuple(start(leaf, block, 0, 0) for leaf, block in zip(leaves, new, strict=True))
    for index in range(count):
        cut, put = jax.lax.dynamic_slice_in_dim, jax.lax.dynamic_update_slice_in_dim
        blocks = [cut(leaf, heads[index], 1) for leaf in leaves]
        new = function(*blocks, *(part[index : index + 1] for part in inputs))
        leaves = tuple(
            put(leaf, block, heads[index], 0) for leaf, block in zip(leaves, new, strict=True)
        )
    return leaves
