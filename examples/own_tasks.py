"""Train on one's own Gymnasium environments: two pendulums, one with a thousandfold reward.

python examples/own_tasks.py --steps 3000
"""

import argparse
from pathlib import Path

import gymnasium
from gymnasium.wrappers import TransformReward

import recall


def pendulum() -> gymnasium.Env:
    """Return the pendulum as it is."""
    return gymnasium.make("Pendulum-v1")


def rich_pendulum() -> gymnasium.Env:
    """Return the pendulum with large rewards."""
    return TransformReward(gymnasium.make("Pendulum-v1"), lambda reward: 1000 * reward)


def main() -> None:
    """Train RECALL on both, one after the other, and print the returns at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3_000, help="steps per task")
    parser.add_argument("--out", type=Path, default=None, help="folder of the fleet")
    chosen = parser.parse_args()
    results = recall.train(
        "recall",
        [pendulum, rich_pendulum],
        seeds=(0, 1),
        out=chosen.out,
        preset="quick",
        steps_per_task=chosen.steps,
        evaluate_every=chosen.steps,
        evaluation_episodes=2,
    )
    functions = {"pendulum": pendulum, "rich_pendulum": rich_pendulum}
    for record in recall.evaluate(results.folder, episodes=2, functions=functions):
        print(f"{record['task']:15} {record['mode']:14} return {record['return']:12.1f}")


if __name__ == "__main__":
    main()
