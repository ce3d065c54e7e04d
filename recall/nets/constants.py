"""Numbers that every implementation of the networks needs: JAX, NumPy, PyTorch and ONNX.

Nothing is imported here, so that the workers, which act in NumPy, start without JAX.
"""

SLOPES = {"relu": 0.0, "leaky_relu": 0.2}
"""Slopes of the activations below 0."""
LOG_STD_RANGE = (-20.0, 2.0)
"""Bounds of the policy's log standard deviation."""
NORM_EPSILON = 1e-6
"""Added to the variance in LayerNorm."""
