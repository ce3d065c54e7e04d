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

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from recall.nets.arrays import Array, Params
from recall.nets.constants import SLOPES
from recall.nets.heads import BatchLayout, Layout, head_of, take_heads
from recall.nets.layers import half_layer, half_norm_layer, norm_tanh

LAST_LAYER = "out"


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

    @property
    def features(self) -> int:
        """Number of features that the trunk passes to a head."""
        return self.hidden[self.shared_layers - 1] if self.shared_layers else self.inputs

    def _trunk_shapes(self) -> Any:
        return _shapes(self.inputs, self.hidden[: self.shared_layers], True)

    def _head_shapes(self) -> Any:
        own = self.hidden[self.shared_layers :]
        return _shapes(self.features, own, self.shared_layers == 0, self.outputs)

    def init(self, key: Array) -> Params:
        """Return initial parameters.

        All layers and heads come from one random draw, because many draws compile slowly.
        """
        centre, spread = _init_range(self._trunk_shapes())
        head_centre, head_spread = _init_range(self._head_shapes())
        split = spread.size
        drawn = jax.random.uniform(key, (split + self.tasks * head_spread.size,), minval=-1.0)
        heads = head_centre + head_spread * drawn[split:].reshape(self.tasks, -1)
        return {
            "trunk": centre + spread * drawn[:split],
            "heads": jax.vmap(lambda flat: _unravel(self._head_shapes(), flat))(heads),
        }

    def init_trunk(self, key: Array) -> Array:
        """Return new parameters of the trunk alone, from the distribution of `init`."""
        centre, spread = _init_range(self._trunk_shapes())
        return centre + spread * jax.random.uniform(key, spread.shape, minval=-1.0)

    def trunk_tree(self, trunk: Array) -> Any:
        """Return the trunk's flat parameters as a tree of layers."""
        return _unravel(self._trunk_shapes(), trunk)

    def trunk(self, trunk: Array, x: Array) -> Array:
        """Apply the trunk's flat parameters: [..., inputs] -> [..., features]."""
        if not self.shared_layers:
            return x
        return self._hidden_layers(_apart(self.trunk_tree(trunk)), x)[-1]

    def _hidden_layers(self, layers: Any, x: Array) -> list[Array]:
        """Return the outputs of each hidden layer of a tree of layers, in order."""
        found: list[Array] = []
        slope = SLOPES[self.activation]
        for name in sorted(name for name in layers if name.startswith("hidden")):
            kernel, bias = layers[name]["kernel"], layers[name]["bias"]
            if name == "hidden_00" and "norm" in layers:
                norm = layers["norm"]["scale"], layers["norm"]["bias"]
                if self.half_inputs:
                    x = half_norm_layer(x, kernel, bias, *norm)
                else:
                    x = norm_tanh(x @ kernel + bias, *norm)
            elif self.half_inputs:
                x = half_layer(x, kernel, bias, slope)
            else:
                x = x @ kernel + bias
                x = jax.nn.leaky_relu(x, slope) if slope else jax.nn.relu(x)
            found.append(x)
        return found

    def apply(self, params: Params, x: Array, layout: Layout) -> Array:
        """Apply the network, each row with its head: x [batch, inputs] -> [batch, outputs]."""
        features = layout.apply_trunk(self.trunk, params["trunk"], x)
        return layout.apply_heads(self._one, params["heads"], features)

    def apply_several(self, params: Params, x: Array, layout: Layout) -> Array:
        """Apply several critics to x [batch, inputs]; return outputs [critic, batch, outputs].

        The trunk is [critic, size] and heads are [heads, critic, ...]. The heads' axes keep their
        order throughout: moving them would copy every parameter.
        """
        features = jax.vmap(lambda trunk: layout.apply_trunk(self.trunk, trunk, x))(params["trunk"])
        return layout.apply_heads(jax.vmap(self._one), params["heads"], features)

    def _one(self, head: Any, features: Array) -> Array:
        layers = _apart(head)
        x = [features, *self._hidden_layers(layers, features)][-1]
        kernel, bias = layers[LAST_LAYER]["kernel"], layers[LAST_LAYER]["bias"]
        return half_layer(x, kernel, bias, None) if self.half_inputs else x @ kernel + bias

    def apply_head(self, params: Params, x: Array, task: Array | int) -> Array:
        """Apply the network with the head of `task` to all rows: [n, inputs] -> [n, outputs]."""
        one = take_heads(params, jnp.asarray(task)[None])
        return self.apply(one, x, BatchLayout(x.shape[0]))

    def hidden_outputs(self, params: Params, x: Array, task: Array | int) -> list[Array]:
        """Return the outputs [n, width] of every hidden layer, in order, for the head of `task`."""
        trunk = self._hidden_layers(self.trunk_tree(params["trunk"]), x)
        return trunk + self._hidden_layers(head_of(params["heads"], task), [x, *trunk][-1])


def _shapes(
    inputs: int, widths: tuple[int, ...], normalises: bool, outputs: int | None = None
) -> Any:
    """Return the shapes of layers' parameters as a tree; only a head has a layer of outputs."""
    named = [(f"hidden_{layer:02}", width) for layer, width in enumerate(widths)]
    named += [] if outputs is None else [(LAST_LAYER, outputs)]
    tree = {"norm": {"scale": widths[:1], "bias": widths[:1]}} if normalises and widths else {}
    for name, width in named:
        tree[name] = {"kernel": (inputs, width), "bias": (width,)}
        inputs = width
    return jax.tree.map(
        lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32),
        tree,
        is_leaf=lambda node: isinstance(node, tuple),
    )


def _init_range(shapes: Any) -> tuple[Array, Array]:
    """Return centre and spread of flat parameters, which start uniformly distributed around it.

    Kernels have Glorot's range; biases start at 0, and LayerNorm's scales at 1.
    """
    centre, spread = [jnp.zeros(0)], [jnp.zeros(0)]
    for path, leaf in jax.tree_util.tree_leaves_with_path(shapes):
        kind = path[-1].key
        limit = np.sqrt(6.0 / sum(leaf.shape)) if kind == "kernel" else 0.0
        centre.append(jnp.full(leaf.size, 1.0 if kind == "scale" else 0.0))
        spread.append(jnp.full(leaf.size, limit))
    return jnp.concatenate(centre), jnp.concatenate(spread)


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
