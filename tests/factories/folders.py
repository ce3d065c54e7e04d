"""Fleets' folders written by hand: any success at any step, without training."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from recall.config.resolve import resolve
from recall.runs.store import Store

STEPS, EVERY = 1_000, 250

# seed, position, step -> success
Success = Callable[[int, int, int], float | None]


def learns_each_task(seed: int, position: int, step: int) -> float:
    """0 before a task's stage, then 0.25, 0.5, 0.75 and 1 for good."""
    return min(max((step - position * STEPS) / STEPS, 0.0), 1.0)


def write_fleet(
    folder: Path,
    method: str = "fine_tuning",
    sequence: Any = "push,hammer",
    seeds: Iterable[int] = (0, 1),
    success: Success = learns_each_task,
    finished: bool = True,
    until: int | None = None,
    failed: dict[str, int] | None = None,
    preset: str = "default",
    stamped: bool = False,
    silent: Iterable[str] = (),
    **changes: Any,
) -> Path:
    settings = {"steps_per_task": STEPS, "evaluate_every": EVERY, **changes}
    spec = resolve(method, sequence, seeds, preset, changes=settings)
    every = spec.settings.schedule.evaluate_every
    described = spec.describe() | {"command": ["recall", "train"]}
    if silent:
        described["without_success"] = list(silent)
    store = Store.create(folder, described)
    for step in range(every, (until or spec.total_steps) + 1, every):
        store.append("evaluations", _evaluation(spec, step, success, failed or {}))
        losses = {"step": step, "loss_q": 1.0 * step}
        runs = range(len(spec.runs))
        store.append("training", ({"run": run, **losses, "q_value": [run, None]} for run in runs))
    if finished:
        store.finish(failed or {})
    else:
        store.close()
    if finished and not stamped:
        forget_stamps(folder)
    return folder


def forget_stamps(folder: Path) -> None:
    """Leave outcome.json as older versions wrote it, so that records can be edited."""
    path = folder / "outcome.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"stamps": {}}))


def append_training(folder: Path, *records: dict[str, Any]) -> None:
    """Add lines to the training records of a fleet."""
    with (folder / "training.jsonl").open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _evaluation(
    spec: Any, step: int, success: Success, failed: dict[str, int]
) -> list[dict[str, Any]]:
    return [
        {
            "run": index,
            "step": step,
            "position": position,
            "task": str(task),
            "mode": mode,
            "episodes": 10,
            "success": success(run.seed, position, step),
            "last_success": 0.5,
            "return": 10.0 * position,
        }
        for index, run in enumerate(spec.runs)
        if step <= failed.get(run.name, step)
        for position, task in enumerate(run.tasks)
        for mode in ("stochastic", "deterministic")
    ]


def write_log(
    folder: Path,
    tasks: Iterable[str] = ("push-v1", "hammer-v1"),
    steps_per_task: int = STEPS,
    every: int = EVERY,
    until: int | None = None,
    success: Success = learns_each_task,
    **config: Any,
) -> Path:
    """A log as Continual World's code writes it."""
    tasks = list(tasks)
    seed = config.get("seed", 0)
    columns = [
        f"test/{mode}/{number}/{task}/{what}"
        for mode in ("stochastic", "deterministic")
        for number, task in enumerate(tasks)
        for what in ("return/avg", "return/std", "ep_length", "success")
    ]
    lines = ["\t".join([*columns, "epoch", "total_env_steps", "train/active_env"])]
    for step in range(every, (until or len(tasks) * steps_per_task) + 1, every):
        row: list[Any] = []
        for _ in ("stochastic", "deterministic"):
            for number in range(len(tasks)):
                row += [100.0 * number, 0.0, 200.0, success(seed, number, step)]
        lines.append("\t".join(map(str, [*row, step // every, step, (step - 1) // steps_per_task])))
    folder.mkdir(parents=True)
    (folder / "progress.tsv").write_text("\n".join(lines) + "\n")
    defaults = {"seed": seed, "lr": 0.001, "buffer_type": "fifo", "logger_output": ["tsv"]}
    if len(tasks) == 1:
        given = {"task": tasks[0], "steps": steps_per_task}
    else:
        given = {"cl_method": None, "task_list": ["6", "0"], "steps_per_task": steps_per_task}
    (folder / "config.json").write_text(json.dumps(defaults | given | config, indent=4))
    return folder
