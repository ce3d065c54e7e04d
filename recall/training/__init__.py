"""The training loop of a fleet, with its evaluations, checkpoints and records."""
