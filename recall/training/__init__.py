"""The loop that trains a fleet, its evaluations, checkpoints and records."""
