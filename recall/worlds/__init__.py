"""Worlds: simulators of tasks, Gymnasium environments, and sequences of tasks."""
