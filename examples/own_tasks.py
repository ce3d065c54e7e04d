"""Train on one's own Gymnasium environments: a pendulum, padded to the sizes of a reaching arm.

python examples/own_tasks.py --steps 3000
"""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import TransformAction, TransformObservation

import recall


def pendulum() -> gymnasium.Env:
    """Return the pendulum, whose 3 observations and 1 action become 10 and 2."""
    env = gymnasium.make("Pendulum-v1")
    env = TransformObservation(env, lambda seen: np.pad(seen, (0, 7)), Box(-np.inf, np.inf, (10,)))
    return TransformAction(env, lambda action: action[:1], Box(-2.0, 2.0, (2,)))


def reacher() -> gymnasium.Env:
    """Return the arm as it is, with 10 observations and 2 actions."""
    return gymnasium.make("Reacher-v5")


def main() -> None:
    """Train RECALL on both, one after the other, and print the returns at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3_000, help="steps per task")
    parser.add_argument("--out", type=Path, default=None, help="folder of the fleet")
    chosen = parser.parse_args()
    results = recall.train(
        "recall",
        [pendulum, reacher],
        seeds=(0, 1),
        out=chosen.out,
        preset="quick",
        steps_per_task=chosen.steps,
        evaluate_every=chosen.steps,
        evaluation_episodes=2,
    )
    functions = {"pendulum": pendulum, "reacher": reacher}
    for record in recall.evaluate(results.folder, episodes=2, functions=functions):
        print(f"{record['task']:15} {record['mode']:14} return {record['return']:12.1f}")


if __name__ == "__main__":
    main()
