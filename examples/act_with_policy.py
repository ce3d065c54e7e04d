"""Act with a trained policy, without JAX: play episodes on its task and count successes.

recall train --sequence point-slide,point-poor --preset quick --out runs/points
python examples/act_with_policy.py runs/points --task point-poor
"""

import argparse
from pathlib import Path

import recall


def main() -> None:
    """Load the policy of one task and play it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of a fleet")
    parser.add_argument("--task", default=None, help="name of the task")
    parser.add_argument("--episodes", type=int, default=10)
    chosen = parser.parse_args()
    policy = recall.load_policy(chosen.folder, chosen.task)
    env = recall.make(policy.task, **policy.world)
    successes = 0
    for episode in range(chosen.episodes):
        observation, info = env.reset(seed=episode)
        ended = False
        while not ended:
            observation, _, terminated, truncated, info = env.step(policy.act(observation))
            ended = terminated or truncated
        successes += info["is_success"]
    print(f"{policy}: {successes} of {chosen.episodes} episodes succeeded")


if __name__ == "__main__":
    main()
