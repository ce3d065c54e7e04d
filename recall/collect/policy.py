"""The actor in NumPy: what a worker acts with. No JAX here: workers start fast and stay small.

A policy travels as one flat float32 vector, layer after layer in the order of `layer_shapes`.
"""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray

# As recall.nets.gaussian and flax's LayerNorm; a test holds the two actors equal.
_LOG_STD_MIN, _LOG_STD_MAX = -20.0, 2.0
_NORM_EPSILON = 1e-6


@dataclass(frozen=True)
class PolicyShape:
    """The actor's shape: one trunk and one head, as a single stack of layers."""

    observation_size: int
    action_size: int
    hidden: tuple[int, ...]
    activation: str

    def layer_shapes(self) -> list[tuple[int, ...]]:
        """Shapes in the order of the flat vector, as recall.nets.multihead lays it out.

        Bias and kernel of each hidden layer, bias and scale of the LayerNorm that follows the
        first one, then bias and kernel of the output.
        """
        shapes: list[tuple[int, ...]] = []
        inputs = self.observation_size
        for width in self.hidden:
            shapes += [(width,), (inputs, width)]
            inputs = width
        norm = (self.hidden[0],)
        return [*shapes, norm, norm, (2 * self.action_size,), (inputs, 2 * self.action_size)]

    @property
    def size(self) -> int:
        """Numbers in the flat vector."""
        return sum(int(np.prod(shape)) for shape in self.layer_shapes())


class NumpyPolicy:
    """Acts from a flat vector; `load` points it at another one."""

    def __init__(self, shape: PolicyShape, vector: Array):
        self._shape = shape
        self._negative_slope = np.float32(0.2 if shape.activation == "leaky_relu" else 0.0)
        self.load(vector)

    def load(self, vector: Array) -> None:
        """Use the parameters in `vector` [size]; a view, so keep it unchanged while acting."""
        self._layers: list[Array] = []
        start = 0
        for shape in self._shape.layer_shapes():
            end = start + int(np.prod(shape))
            self._layers.append(vector[start:end].reshape(shape))
            start = end

    def outputs(self, observation: Array) -> tuple[Array, Array]:
        """Mean and log std before tanh, each [act], of one observation [obs]."""
        *hidden, norm_bias, norm_scale, out_bias, out_kernel = self._layers
        x = observation.astype(np.float32) @ hidden[1] + hidden[0]
        centred = x - x.mean()
        variance = np.square(centred).mean()
        x = np.tanh(centred / np.sqrt(variance + _NORM_EPSILON) * norm_scale + norm_bias)
        for bias, kernel in zip(hidden[2::2], hidden[3::2], strict=True):
            x = x @ kernel + bias
            x = np.maximum(x, self._negative_slope * x)
        out = x @ out_kernel + out_bias
        act = self._shape.action_size
        return out[:act], np.clip(out[act:], _LOG_STD_MIN, _LOG_STD_MAX)

    def act(self, observation: Array, noise: Array | None) -> Array:
        """An action in (-1, 1); without noise the mean's."""
        mean, log_std = self.outputs(observation)
        if noise is None:
            return np.tanh(mean)
        return np.tanh(mean + np.exp(log_std) * noise)
