"""Multi-head networks: layers that all tasks share (the trunk), then separate layers per task.

One class covers every architecture that the paper needs. With four hidden layers, sharing all four
leaves linear heads (`shallow`: the actor, and the critic of every baseline), sharing one gives
heads with three hidden layers (`deep`: RECALL's critic), and sharing none gives each task a
network of its own (`separate`). The task number is used only to select a head.

Parameters are `{"trunk": [size], "heads": {layer: {"kernel": [task, ...], "bias": ...}}}`. The
trunk is flat, layer after layer, so that methods which anchor or pack weights see one vector, and
optimising it is one pass over memory. Heads, which hold most of RECALL's parameters, stay separate
layers: their gradients are computed layer by layer, and copying them into one array would cost as
much as a product.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from recall.nets.arrays import Array, Params
from recall.nets.constants import SLOPES
from recall.nets.heads import (
    BatchLayout,
    OldAndNew,
    head_of,
    joined,
    one_trunk,
    split_heads,
    take_heads,
)
from recall.nets.layers import half_layer, half_norm_layer, norm_tanh

LAST_LAYER = "out"
HIDDEN = "hidden_outputs"


def _activate(x: Array, slope: float) -> Array:
    return nn.leaky_relu(x, slope) if slope else nn.relu(x)


def _dense(x: Array, kernel: Array, bias: Array) -> Array:
    return x @ kernel + bias


class _Linear(nn.Module):
    """Parameters of nn.Dense without its product, which differs between layers."""

    width: int

    @nn.compact
    def __call__(self, inputs: int) -> tuple[Array, Array]:
        kernel = self.param("kernel", nn.initializers.zeros, (inputs, self.width))
        return kernel, self.param("bias", nn.initializers.zeros, (self.width,))


class _Norm(nn.Module):
    """Parameters of nn.LayerNorm."""

    width: int

    @nn.compact
    def __call__(self) -> tuple[Array, Array]:
        scale = self.param("scale", nn.initializers.ones, (self.width,))
        return scale, self.param("bias", nn.initializers.zeros, (self.width,))


class _Layers(nn.Module):
    widths: tuple[int, ...]
    activation: str
    normalise_first: bool
    half_inputs: bool
    outputs: int | None = None

    @nn.compact
    def __call__(self, x: Array) -> Array:
        slope = SLOPES[self.activation]
        for layer, width in enumerate(self.widths):
            linear = _Linear(width, name=f"hidden_{layer:02}")(x.shape[-1])
            if layer == 0 and self.normalise_first:
                norm = _Norm(width, name="norm")()
                if self.half_inputs:
                    x = half_norm_layer(x, *linear, *norm)
                else:
                    x = norm_tanh(_dense(x, *linear), *norm)
            elif self.half_inputs:
                x = half_layer(x, *linear, slope)
            else:
                x = _activate(_dense(x, *linear), slope)
            self.sow(HIDDEN, HIDDEN, x)  # stored only if the caller makes the collection mutable
        if self.outputs is None:
            return x
        last = _Linear(self.outputs, name=LAST_LAYER)(x.shape[-1])
        return half_layer(x, *last, None) if self.half_inputs else _dense(x, *last)


@dataclass(frozen=True)
class MultiHead:
    """Network with `inputs` inputs and `outputs` outputs for each of `tasks` tasks.

    LayerNorm and tanh follow the first hidden layer; `activation` follows the others.
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
        """Number of features that the trunk passes to a head."""
        return self.hidden[self.shared_layers - 1] if self.shared_layers else self.inputs

    def _trunk_shapes(self) -> Any:
        return _shapes(self._trunk(), self.inputs) if self.shared_layers else {}

    def _head_shapes(self) -> Any:
        return _shapes(self._head(), self.features)

    def init(self, key: Array) -> Params:
        """Return initial parameters.

        All layers and heads come from one random draw, because many draws compile slowly.
        """
        trunk, head = _init_scale(self._trunk_shapes()), _init_scale(self._head_shapes())
        split = trunk.spread.size
        drawn = jax.random.uniform(key, (split + self.tasks * head.spread.size,), minval=-1.0)
        heads = head.centre + head.spread * drawn[split:].reshape(self.tasks, -1)
        return {
            "trunk": trunk.centre + trunk.spread * drawn[:split],
            "heads": jax.vmap(lambda flat: _unravel(self._head_shapes(), flat))(heads),
        }

    def init_trunk(self, key: Array) -> Array:
        """Return new parameters of the trunk alone, from the distribution of `init`."""
        scale = _init_scale(self._trunk_shapes())
        return scale.centre + scale.spread * jax.random.uniform(
            key, scale.spread.shape, minval=-1.0
        )

    def trunk_tree(self, trunk: Array) -> Any:
        """Return the trunk's flat parameters as a tree of layers."""
        return _unravel(self._trunk_shapes(), trunk)

    def trunk(self, params: Params, x: Array) -> Array:
        """Apply the trunk: [..., inputs] -> [..., features]."""
        if not self.shared_layers:
            return x
        tree = _apart(self.trunk_tree(params["trunk"]))
        features: Any = self._trunk().apply({"params": tree}, x)
        return features

    def apply(self, params: Params, x: Array, layout: BatchLayout | Array) -> Array:
        """Apply the network to each row with its own head: x [batch, inputs] -> [batch, outputs].

        `layout` is the static layout of the rows, or the head of each row [batch] in any order. In
        the latter case every head is applied to every row and each row keeps one result, which is
        cheap for linear heads and exact for all.
        """
        features = self._features(params, x, layout)
        return self._answers(params["heads"], features, layout, self._one)

    def apply_several(self, params: Params, x: Array, layout: BatchLayout | Array) -> Array:
        """Apply several critics to x [batch, inputs]; return outputs [critic, batch, outputs].

        The trunk is [critic, size] and heads are [heads, critic, ...]. The heads' axes keep their
        order throughout: moving them would copy every parameter.
        """
        trunk = {"trunk": params["trunk"]}
        features = jax.vmap(lambda each: self._features(each, x, layout))(trunk)
        return self._answers(params["heads"], features, layout, jax.vmap(self._one))

    def _features(self, params: Params, x: Array, layout: BatchLayout | Array) -> Array:
        """Apply the trunk: x [batch, inputs] -> [batch, features], old and new rows with theirs."""
        trunk = params["trunk"]
        if not isinstance(trunk, OldAndNew) or not isinstance(layout, BatchLayout):
            return self.trunk(one_trunk(params), x)
        new = self.trunk({"trunk": trunk.new}, x[: layout.new])
        old = self.trunk({"trunk": trunk.old}, x[layout.new :])
        return jnp.concatenate([new, old])

    def _answers(
        self,
        heads: Any,
        features: Array,
        layout: BatchLayout | Array,
        one: Callable[..., Array],
    ) -> Array:
        """Apply heads to features [..., batch, width]; `one` applies one head."""
        if not isinstance(layout, BatchLayout):
            # [heads, ..., batch, outputs]
            every = jax.vmap(one, in_axes=(0, None))(joined(heads), features)
            mine = layout.reshape(*(1,) * (every.ndim - 2), -1, 1)
            return jnp.take_along_axis(every, mine, axis=0)[0]
        if not layout.groups:
            return one(head_of(heads, 0), features)
        heads = split_heads(heads, layout.groups)
        new = one(head_of(heads.new, 0), features[..., : layout.new, :])
        shape = (*features.shape[:-2], layout.groups, layout.group_size, features.shape[-1])
        grouped = jnp.moveaxis(features[..., layout.new :, :].reshape(shape), -3, 0)
        old = jnp.moveaxis(jax.vmap(one)(heads.old, grouped), 0, -3)
        return jnp.concatenate([new, old.reshape(*new.shape[:-2], -1, self.outputs)], axis=-2)

    def _one(self, head: Any, features: Array) -> Array:
        answers: Any = self._head().apply({"params": _apart(head)}, features)
        return answers

    def apply_head(self, params: Params, x: Array, task: Array | int) -> Array:
        """Apply the network with the head of `task` to all rows: [n, inputs] -> [n, outputs]."""
        one = take_heads(params, jnp.asarray(task)[None])
        return self.apply(one, x, BatchLayout(x.shape[0]))

    def hidden_outputs(self, params: Params, x: Array, task: Array | int) -> list[Array]:
        """Return the outputs [n, width] of every hidden layer, in order, for the head of `task`."""
        found: list[Array] = []
        parts = []
        if self.shared_layers:
            parts.append((self._trunk(), self.trunk_tree(params["trunk"])))
        parts.append((self._head(), head_of(params["heads"], task)))
        for layers, tree in parts:
            x, kept = layers.apply({"params": tree}, x, mutable=[HIDDEN])
            found += kept.get(HIDDEN, {}).get(HIDDEN, ())
        return found


@cache
def _shapes(layers: _Layers, inputs: int) -> Any:
    """Return the shapes of a network's parameters as a tree; traced once, and never computed."""
    variables = jax.eval_shape(layers.init, jax.random.PRNGKey(0), jnp.zeros((1, inputs)))
    return variables["params"]


class _InitScale(NamedTuple):
    """Distribution of initial flat parameters: uniform within `spread` of `centre`."""

    centre: Array
    spread: Array


def _init_scale(shapes: Any) -> _InitScale:
    """Return Glorot's range for kernels; biases start at 0, and LayerNorm's scales at 1."""
    centre, spread = [jnp.zeros(0)], [jnp.zeros(0)]
    for path, leaf in jax.tree_util.tree_leaves_with_path(shapes):
        kind = path[-1].key
        limit = np.sqrt(6.0 / sum(leaf.shape)) if kind == "kernel" else 0.0
        centre.append(jnp.full(leaf.size, 1.0 if kind == "scale" else 0.0))
        spread.append(jnp.full(leaf.size, limit))
    return _InitScale(jnp.concatenate(centre), jnp.concatenate(spread))


def _unravel(shapes: Any, flat: Array) -> Any:
    """Return `flat` as a tree of these shapes."""
    leaves = jax.tree.leaves(shapes)
    if not leaves:
        return shapes
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = jnp.split(flat, ends)
    shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(shapes), shaped)


@jax.custom_vjp
def _apart(tree: Any) -> Any:
    """Return `tree`, with a barrier on the gradients in the backward pass.

    Each array's gradient is then finished before it is joined to the others. Without the barrier,
    the compiler recomputes sums over rows for every element of the joint array.
    """
    return tree


def _apart_forward(tree: Any) -> tuple[Any, None]:
    return tree, None


def _apart_backward(_: None, gradient: Any) -> tuple[Any]:
    return (jax.tree.map(jax.lax.optimization_barrier, gradient),)


_apart.defvjp(_apart_forward, _apart_backward)
