"""Train d3rlpy offline on what a fleet has collected, by way of a Minari dataset.

    pip install torch minari[hdf5] structlog dataclasses-json scikit-learn gym colorama
    pip install --no-deps d3rlpy
    python examples/offline_d3rlpy.py --steps 5000

d3rlpy 2.8.1 asks for Gymnasium 1.0.0 but runs with what this package needs, hence --no-deps. If
there is no fleet that was trained with --keep-replay, a small one is trained first.
"""

import argparse
from pathlib import Path

import d3rlpy
import numpy as np

import recall


def main() -> None:
    """Train TD3+BC on the second task of a sequence, and count how often it succeeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleet", type=Path, default=Path("runs/offline"))
    parser.add_argument("--task", default="point-poor")
    parser.add_argument("--steps", type=int, default=5000)
    chosen = parser.parse_args()
    if not chosen.fleet.exists():
        recall.train(
            "recall", "point-rich,point-poor", preset="quick", keep_replay=True, out=chosen.fleet
        )
    dataset = recall.export_minari(chosen.fleet, f"recall/{chosen.task}-v0", chosen.task)

    episodes = list(dataset)  # Minari has one observation more than actions in each
    data = d3rlpy.dataset.MDPDataset(
        np.concatenate([each.observations[:-1] for each in episodes]),
        np.concatenate([each.actions for each in episodes]),
        np.concatenate([each.rewards for each in episodes]),
        np.concatenate([each.terminations for each in episodes]),
        np.concatenate([each.truncations for each in episodes]),
    )
    algorithm = d3rlpy.algos.TD3PlusBCConfig(
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler()
    ).create(device="cpu")
    algorithm.fit(data, chosen.steps, min(chosen.steps, 1000), show_progress=False)

    env = recall.make(chosen.task)
    successes = 0
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        truncated = False  # pointworld does not terminate
        while not truncated:
            action = algorithm.predict(observation[None].astype("float32"))[0]
            observation, _, _, truncated, info = env.step(action)
        successes += info["is_success"]
    collected = np.mean([each.infos["episode_success"][-1] for each in episodes])
    print(f"{successes} of 20 episodes succeeded; of those in the dataset, {collected:.0%}")


if __name__ == "__main__":
    main()
