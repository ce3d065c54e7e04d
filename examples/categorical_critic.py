"""A method that replaces the critics' loss: values learned by classification.

    p_i = mass of N(Q_tau, s²) in bin i,      L_Q = -Σ_i p_i log softmax(outputs)_i

Each critic has one output per bin of possible values, and its value is their expectation
(HL-Gauss: Farebrother and others, Stop Regressing, 2024). Try it with

    recall train --plugin examples/categorical_critic.py --method categorical --preset quick \
        --sequence point-slide,point-poor
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from recall.errors import BadValueError
from recall.methods import Method, register_method
from recall.nets.arrays import Array


@register_method
@dataclass(frozen=True)
class Categorical(Method):
    """Fine-tuning whose critics classify values into bins."""

    name: ClassVar[str] = "categorical"
    label: ClassVar[str] = "Categorical"
    summary: ClassVar[str] = "Learns values by classification into bins."
    reference: ClassVar[str] = "Farebrother and others, Stop Regressing, 2024"
    colour: ClassVar[str] = "#117733"

    bins: int = 51
    """Number of bins."""
    lowest: float = -100.0
    """Lowest value that a critic can give."""
    highest: float = 100.0
    """Highest value that a critic can give."""
    spread: float = 0.75
    """Standard deviation s of a target, in widths of a bin."""

    def __post_init__(self) -> None:
        """Refuse values that no run could use."""
        super().__post_init__()
        if self.bins < 2 or self.lowest >= self.highest or self.spread <= 0:
            raise BadValueError(
                f"{self.bins} bins from {self.lowest} to {self.highest} with a spread of "
                f"{self.spread}: at least two bins, an interval and a positive spread are needed"
            )

    @property
    def critic_outputs(self) -> int:
        """Return the number of bins."""
        return self.bins

    def _edges(self) -> Array:
        return jnp.linspace(self.lowest, self.highest, self.bins + 1)

    def values(self, outputs: Array) -> Array:
        """Return the expected value of the bins."""
        edges = self._edges()
        return jax.nn.softmax(outputs) @ ((edges[1:] + edges[:-1]) / 2)

    def q_loss(
        self, outputs: Array, target: Array, mean: Array, sigma: Array, weights: Array
    ) -> Array:
        """Return the cross-entropy between the targets' bins and the critics'."""
        width = (self.highest - self.lowest) / self.bins
        centre = jnp.clip(target, self.lowest, self.highest)[..., None]
        below = jax.scipy.special.ndtr((self._edges() - centre) / (self.spread * width))
        mass = jnp.diff(below) / (below[..., -1:] - below[..., :1])
        return -jnp.sum(weights * jnp.sum(mass * jax.nn.log_softmax(outputs), axis=-1))
