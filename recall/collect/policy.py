"""The actor in NumPy, with which workers act. Without JAX, workers start fast and stay small.

A policy is sent as one flat float32 vector, layer after layer in the order of `layer_shapes`.
"""

from dataclasses import dataclass

import numpy as np

from recall.nets.constants import LOG_STD_RANGE, NORM_EPSILON, SLOPES

Array = np.ndarray


@dataclass(frozen=True)
class PolicyShape:
    """Shape of the actor: one trunk and one head, as a single stack of layers."""

    observation_size: int
    action_size: int
    hidden: tuple[int, ...]
    activation: str
    shared_layers: int = 0

    def layer_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the layers' shapes in the order of the flat vector of recall.learn.fleet.

        The trunk comes first, then the head, each with its hidden layers, then the LayerNorm of the
        first layer if it contains that layer; biases precede kernels. The output layer comes last.
        """
        hidden: dict[str, tuple[int, ...]] = {}
        inputs = self.observation_size
        for layer, width in enumerate(self.hidden):
            hidden |= {f"bias_{layer}": (width,), f"kernel_{layer}": (inputs, width)}
            inputs = width
        norm = {"norm_bias": (self.hidden[0],), "norm_scale": (self.hidden[0],)}
        split = 2 * (self.shared_layers or len(self.hidden))
        out = {"out_bias": (2 * self.action_size,), "out_kernel": (inputs, 2 * self.action_size)}
        names = list(hidden)
        trunk = {name: hidden[name] for name in names[:split]}
        head = {name: hidden[name] for name in names[split:]}
        return trunk | norm | head | out

    def layers(self, vector: Array) -> dict[str, Array]:
        """Return the named layers of a flat policy, as views."""
        found, start = {}, 0
        for name, shape in self.layer_shapes().items():
            end = start + int(np.prod(shape))
            found[name] = vector[start:end].reshape(shape)
            start = end
        return found

    @property
    def negative_slope(self) -> float:
        """Slope of the activation below 0."""
        return SLOPES[self.activation]

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return sum(int(np.prod(shape)) for shape in self.layer_shapes().values())


class NumpyPolicy:
    """Policy that acts with the parameters of a flat vector [size], of which it keeps views."""

    def __init__(self, shape: PolicyShape, vector: Array):
        self.shape = shape
        # Scalars as float32 arrays, because NumPy converts other numbers at every call.
        slope = shape.negative_slope
        self._negative_slope = np.array(slope, np.float32) if slope else None
        self._zero = np.zeros((), np.float32)
        self._epsilon = np.array(NORM_EPSILON, np.float32)
        self._averaging = np.full((shape.hidden[0], 1), 1.0 / shape.hidden[0], np.float32)
        self._log_std_bounds = [np.array(x, np.float32) for x in LOG_STD_RANGE]
        layers = shape.layers(vector)
        self._hidden = [
            (layers[f"bias_{layer}"], layers[f"kernel_{layer}"])
            for layer in range(len(shape.hidden))
        ]
        self._norm = layers["norm_bias"], layers["norm_scale"]
        self._out = layers["out_bias"], layers["out_kernel"]

    def outputs(self, observation: Array) -> tuple[Array, Array]:
        """Return mean and log std before tanh, each [..., act], for observations [..., obs]."""
        (first_bias, first_kernel), *others = self._hidden
        norm_bias, norm_scale = self._norm
        out_bias, out_kernel = self._out
        # In place and with few calls: for one row, the calls cost as much as the products. A
        # product with a column of 1 / size is the fastest mean, of one row as of a batch.
        x = np.dot(observation.astype(np.float32, copy=False), first_kernel)
        x += first_bias
        x -= np.dot(x, self._averaging)
        x /= np.sqrt(np.dot(x * x, self._averaging) + self._epsilon)
        x *= norm_scale
        x += norm_bias
        np.tanh(x, out=x)
        slope = self._negative_slope
        for bias, kernel in others:
            x = np.dot(x, kernel)
            x += bias
            np.maximum(x, self._zero if slope is None else x * slope, out=x)
        out = np.dot(x, out_kernel)
        out += out_bias
        act = self.shape.action_size
        log_std = out[..., act:]
        low, high = self._log_std_bounds
        np.maximum(log_std, low, out=log_std)
        np.minimum(log_std, high, out=log_std)
        return out[..., :act], log_std

    def act(self, observation: Array, noise: Array | None) -> Array:
        """Return actions in (-1, 1); without noise, they are the tanh of the mean."""
        mean, log_std = self.outputs(observation)
        if noise is None:
            return np.tanh(mean)
        return np.tanh(mean + np.exp(log_std) * noise)
