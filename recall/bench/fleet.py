"""Measure a fleet end to end, in transitions per second, and its learner and workers alone."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from recall.callbacks import Callback
from recall.collect.pool import ChunkRequest
from recall.config.spec import make_spec
from recall.errors import BadValueError
from recall.nets.sharding import shard
from recall.replay.buffer import Replay
from recall.results.store import Store
from recall.settings import LearnerSettings, SacSettings, ScheduleSettings, Settings
from recall.training.trainer import Trainer

SEQUENCE = ("window-close", "faucet-close", "handle-press-side")
_WARM_CHUNKS = 4


def measure(runs: int, method: str, precision: Any, chunks: int, tasks: int) -> dict[str, Any]:
    """Measure one fleet at the last of `tasks` tasks, with old tasks in its replay.

    Measures `chunks` chunks with everything together, then the learner alone, then the workers
    alone.
    """
    schedule = ScheduleSettings(
        steps_per_task=50 * 4 * (chunks + 2 * _WARM_CHUNKS),
        update_after=50,
        random_steps=50,
        scoring_episodes=1,
        replay_capacity=50 * 4 * (chunks + 2 * _WARM_CHUNKS),
    )
    settings = Settings(
        learner=LearnerSettings(sac=SacSettings(precision=precision)), schedule=schedule
    )
    spec = make_spec(method, ",".join(SEQUENCE[-tasks:]), range(runs), settings)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder), spec.describe())
        trainer = Trainer(spec, Path(folder), store, Callback())
        try:
            _go_to_last_task(trainer)
            return {"runs": runs, "method": method, "tasks": tasks, **_rates(trainer, chunks)}
        finally:
            trainer.close()


def _go_to_last_task(trainer: Trainer) -> None:
    """Bring the fleet to the state after all earlier tasks, with made-up transitions."""
    replay = trainer.history.replay
    made_up = [
        0.5 * jax.random.normal(jax.random.PRNGKey(number), leaf.shape)
        for number, leaf in enumerate(replay)
    ]
    trainer.history.replay = shard(Replay(*made_up))
    trainer.progress.stage = trainer.task_schedule.stages - 1
    trainer.start_stage()


def _rates(trainer: Trainer, chunks: int) -> dict[str, Any]:
    schedule = trainer.schedule
    transitions = chunks * schedule.chunk_steps * len(trainer.names)
    for _ in range(_WARM_CHUNKS):
        trainer.advance()
    jax.block_until_ready(trainer.state)
    start = time.perf_counter()
    for _ in range(chunks):
        trainer.advance()
    jax.block_until_ready(trainer.state)
    together = time.perf_counter() - start

    trainer.chunks.settle()
    start = time.perf_counter()
    for _ in range(chunks):
        trainer.learn()
    jax.block_until_ready(trainer.state)
    learning = time.perf_counter() - start

    requests = [ChunkRequest(trainer.task, trainer.progress.steps, trainer.policies(trainer.task))]
    start = time.perf_counter()
    for _ in range(chunks):
        trainer.pool.order_chunk(requests)
        trainer.pool.wait_chunk()
    collecting = time.perf_counter() - start
    return {
        "transitions_per_s": transitions / together,
        "learner_alone_per_s": transitions / learning,
        "workers_alone_per_s": transitions / collecting,
        "share_of_learner": learning / together,
        "learner_waits": max(0.0, 1.0 - learning / together),
        "workers_wait": max(0.0, 1.0 - collecting / together),
    }


def bench_fleet(
    runs: Sequence[int] = (5, 40),
    method: str = "recall",
    precision: Any = "default",
    chunks: int = 60,
    tasks: int = 3,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure fleets of these sizes on the last of up to three Continual World tasks."""
    if not 1 <= tasks <= len(SEQUENCE):
        raise BadValueError(f"tasks {tasks}: a number from 1 to {len(SEQUENCE)}")
    if min((*runs, chunks)) < 1:
        raise BadValueError(f"runs {list(runs)} and chunks {chunks} must all be at least 1")
    rows = []
    for count in runs:
        progress(f"{method}, {count} runs")
        rows.append(measure(count, method, precision, chunks, tasks))
    return {"device": jax.devices()[0].device_kind, "precision": precision, "rows": rows}


def print_table(result: dict[str, Any]) -> None:
    """Print the result as a table."""
    table = Table(title=f"transitions/s on {result['device']}, {result['precision']} products")
    headings = (
        "runs",
        "tasks",
        "together",
        "learner alone",
        "workers alone",
        "share of learner",
        "learner waits",
        "workers wait",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in result["rows"]:
        table.add_row(
            str(row["runs"]),
            str(row["tasks"]),
            f"{row['transitions_per_s']:,.0f}",
            f"{row['learner_alone_per_s']:,.0f}",
            f"{row['workers_alone_per_s']:,.0f}",
            f"{row['share_of_learner']:.0%}",
            f"{row['learner_waits']:.0%}",
            f"{row['workers_wait']:.0%}",
        )
    Console().print(table)
