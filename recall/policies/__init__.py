"""Trained policies to take away: their files, acting in NumPy, ONNX and PyTorch; no JAX."""
