"""Runs made up of plausible curves, without a file or a training step."""

from pathlib import Path

import numpy as np

from recall.analysis.collection import Collection
from recall.analysis.labels import label_of
from recall.analysis.run_result import RunResult
from recall.worlds.sequences import parse_sequence

FIELDS = [(m, f) for m in ("stochastic", "deterministic") for f in ("success", "last_success")]
SKILL = {"recall": 0.95, "perfect_memory": 0.45, "clonex": 0.85, "packnet": 0.8}
KEPT = {"fine_tuning": 0.15, "ewc": 0.6, "recall": 1.0, "perfect_memory": 0.95}


def made_run(
    method: str,
    sequence: str,
    seed: int,
    *,
    per_task: int = 1_000_000,
    evaluations: int = 10,
    variant: str = "",
    until: int | None = None,
    records: bool = False,
    **facts,
) -> RunResult:
    """A run that learns every task in its stage, and forgets it at its method's rate."""
    tasks = parse_sequence(sequence).tasks
    random = np.random.default_rng([seed, *sequence.encode(), *method.encode(), *variant.encode()])
    steps = np.arange(1, len(tasks) * evaluations + 1) * (per_task // evaluations)
    success = np.zeros((len(steps), len(tasks)))
    for task in range(len(tasks)):
        since = steps / per_task - task
        skill = np.clip(SKILL.get(method, 0.75) + 0.2 * random.normal(), 0, 1)
        learned = skill * (1 - np.exp(-4.0 * random.uniform(0.6, 1.4) * np.clip(since, 0, 1)))
        kept = KEPT.get(method, 0.85) ** np.clip(since - 1, 0, None)
        success[:, task] = np.where(since > 0, learned * kept, 0.0)
    success = random.binomial(10, np.clip(success, 0, 1)) / 10
    kept_rows = steps <= (until or steps[-1])
    steps, success = steps[kept_rows], success[kept_rows]
    run = RunResult(
        name=f"{sequence}-s{seed}",
        folder=Path("nowhere"),
        method=method,
        sequence=sequence,
        tasks=tasks,
        seed=seed,
        steps_per_task=per_task,
        steps=steps,
        curves=dict.fromkeys(FIELDS, success),
        label=label_of(method, variant),
        variant=variant,
        finished=until is None,
        **facts,
    )
    training = made_records(method, len(tasks), per_task, random) if records else {}
    vars(run)["training"] = training  # what would be read from its folder
    return run


def made_records(method: str, tasks: int, per_task: int, random) -> dict[str, np.ndarray]:
    """Columns as training.jsonl gives them: every tenth record is one of plasticity alone."""
    rows = 100 * tasks
    steps = np.arange(1, rows + 1) * (per_task // 100)
    stage = (steps - 1) // per_task
    scale = np.where(np.arange(tasks) % 2, 10.0, 1000.0)[stage]
    noise = np.exp(0.2 * random.normal(size=rows))
    norm = 1.0 if method == "recall" else scale
    quality = {
        "dormant": 0.3 * (1 - np.exp(-steps / per_task / 3)),
        "rank": 40 + 150 * np.exp(-steps / per_task / 2),
        "weight_norm": 30 + 10 * np.sqrt(steps / per_task),
    }
    seen = np.arange(tasks)[None] <= stage[:, None]
    values = np.where(np.arange(tasks) % 2, 10.0, 1000.0) * noise[:, None]
    found = {
        "step": steps.astype(float),
        "loss_pi": -norm * noise,
        "loss_q": norm * norm * noise,
        "grad_norm_pi": norm * noise,
        "grad_norm_q": 3 * norm * noise,
        "q_value": np.where(seen, values, np.nan),
    }
    for name, column in found.items():
        if name != "step":
            column[9::10] = np.nan
    only = np.full(rows, np.nan)
    for name, column in quality.items():
        for network in ("pi", "q"):
            found[f"{name}_{network}"] = only.copy()
            found[f"{name}_{network}"][9::10] = (column * noise**0.2)[9::10]
    return found


def made_collection(methods, sequences, seeds: int = 3, singles: bool = True, **facts):
    """All methods on all sequences, and fine-tuning on every task alone."""
    runs = [
        made_run(method, sequence, seed, **facts)
        for method in methods
        for sequence in sequences
        for seed in range(seeds)
    ]
    tasks = dict.fromkeys(task for run in runs for task in run.tasks) if singles else ()
    facts = {name: facts[name] for name in ("per_task", "evaluations") if name in facts}
    alone = [made_run("fine_tuning", task, s, **facts) for task in tasks for s in range(seeds)]
    return Collection(tuple(runs), reference_runs=tuple(alone))
