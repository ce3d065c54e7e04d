"""Search for a learning rate and a discount with Optuna (`pip install optuna`).

python examples/sweep_with_optuna.py --trials 10

The first trial compiles the learner, and all others load its programs from the cache.
"""

import argparse
from pathlib import Path

import optuna

import recall


def main() -> None:
    """Train plain SAC on a small task with every suggestion, and print the best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10, help="number of trainings")
    parser.add_argument("--steps", type=int, default=3_000, help="steps of each")
    parser.add_argument("--out", type=Path, default=Path("runs/sweep"), help="folder of the fleets")
    chosen = parser.parse_args()

    def mean_return(trial: optuna.Trial) -> float:
        results = recall.train(
            "fine_tuning",
            "point-slide",
            seeds=(0, 1, 2),
            out=chosen.out / f"trial-{trial.number}",
            preset="quick",
            steps_per_task=chosen.steps,
            evaluate_every=chosen.steps,
            callback=recall.Callback(),  # shows nothing
            learning_rate=trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
            discount=trial.suggest_float("discount", 0.9, 0.99),
        )
        last = [
            record["return"] for record in results.evaluations if record["mode"] == "stochastic"
        ]
        return sum(last) / len(last)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(mean_return, n_trials=chosen.trials)
    print(f"best: {study.best_params}, with a mean return of {study.best_value:.1f}")


if __name__ == "__main__":
    main()
