"""The records of evaluations.jsonl: one line per run, evaluation, task and mode.

A record carries the step of the policies that were evaluated. Records may be written late and in
any order, so readers go by the step and never by the order of lines.
"""

from typing import Any, Literal, NotRequired, TypedDict, cast, get_args

Mode = Literal["stochastic", "deterministic"]
MODES: tuple[Mode, ...] = get_args(Mode)
Field = Literal["success", "last_success", "return"]
"""Means over episodes: success at any step, success at the last step, and the return."""
FIELDS: tuple[Field, ...] = get_args(Field)
RATES: tuple[Field, ...] = ("success", "last_success")
"""The fields that are shares of episodes, from 0 to 1."""

# A call, because `return` is a keyword.
EvaluationRecord = TypedDict(
    "EvaluationRecord",
    {
        "run": int,  # index of the run in its fleet
        "step": int,  # step of the run whose policies were evaluated
        "position": int,  # of the task in the sequence
        "task": str,
        "mode": Mode,
        "episodes": int,
        "success": float,
        "last_success": float,
        "return": float,
        # Success at any step by a criterion of Continual World, whichever `success` follows.
        "success_v1": NotRequired[float],
        "success_v2": NotRequired[float],
    },
)


def evaluation_record(
    run: int, step: int, position: int, task: str, mode: Mode, episodes: int, means: Any
) -> EvaluationRecord:
    """Return the record of one task's episodes.

    `means` has a number for each of FIELDS, and for further criteria of success if there are any.
    """
    record = {
        "run": run,
        "step": step,
        "position": position,
        "task": task,
        "mode": mode,
        "episodes": episodes,
        **{name: float(mean) for name, mean in means.items()},
    }
    return cast(EvaluationRecord, record)
