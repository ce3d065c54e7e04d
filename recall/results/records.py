"""The lines of training.jsonl, made from what the trainer knows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recall.results.health import Symptom

Array = np.ndarray
Record = dict[str, Any]


def score_records(scores: Array, best: Array, step: int, position: int) -> list[Record]:
    """What every old head earned on a new task [run, head], and which was taken."""
    return [
        {
            "run": run,
            "step": step,
            "position": position,
            "head_returns": scores[run].tolist(),
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
    """How `runs` did since the last record, or what was measured of their networks.

    `episodes` are [run, success, return] of those that ended; `metrics` have the run axis first.
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
