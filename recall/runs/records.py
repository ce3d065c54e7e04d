"""The records of training.jsonl, built from the trainer's data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recall.runs.health import Symptom

Array = np.ndarray
Record = dict[str, Any]


def score_records(scores: Array, best: Array, step: int, position: int) -> list[Record]:
    """Return records of the scores [run, 1 + head] on a new task, and of the copied head or -1."""
    return [
        {
            "run": run,
            "step": step,
            "position": position,
            "head_returns": scores[run, 1:].tolist(),
            "random_return": float(scores[run, 0]),
            "best_head": int(best[run]),
        }
        for run in range(len(scores))
    ]


def health_record(run: int, step: int, symptom: Symptom) -> Record:
    """Return the record of a health warning."""
    return {
        "run": run,
        "step": step,
        "position": symptom.position,
        "health": symptom.kind,
        "message": symptom.message,
    }


def training_records(
    step: int, runs: Sequence[int], episodes: Sequence[Sequence[Any]], metrics: Mapping[str, Array]
) -> list[Record]:
    """Return the training records of `runs` since the last records, or of their networks.

    `episodes` holds [run, success, return] of the episodes that ended. In `metrics` the first axis
    is the run.
    """
    records = []
    for run in runs:
        record: Record = {"run": run, "step": step}
        mine = [episode for episode in episodes if episode[0] == run]
        if mine:
            record["episode_success"] = float(np.mean([episode[1] for episode in mine]))
            record["episode_return"] = float(np.mean([episode[2] for episode in mine]))
        record |= {name: values[run].tolist() for name, values in metrics.items()}
        records.append(record)
    return records
