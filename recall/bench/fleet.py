"""Measure a fleet end to end, with evaluations, and its learner and workers alone."""

import dataclasses
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from recall.collect.pool import ChunkRequest
from recall.config.spec import FleetSpec, make_spec
from recall.learn.method import Method
from recall.nets.arrays import Array, Params
from recall.nets.sharding import shard
from recall.policies.policy import load_policy
from recall.replay.buffer import Replay
from recall.runs.store import Store
from recall.settings import LearnerSettings, SacSettings, ScheduleSettings, Settings, WorldSettings
from recall.training.callbacks import Callback
from recall.training.trainer import Trainer
from recall.worlds.continual_world import TASKS
from recall.worlds.registry import horizon_steps

CHUNKS = ScheduleSettings().evaluate_every // ScheduleSettings().chunk_steps
_WARM_CHUNKS = 4


def spec_of(
    runs: int, method: str, precision: Any, chunks: int, tasks: int, environments: int, last: str
) -> FleetSpec:
    """Return a fleet that is long enough to measure `chunks` chunks of its last task.

    Over fewer chunks than lie between two evaluations by default, one evaluation with fewer
    episodes is measured, so that the share of evaluations stays about the same.
    """
    default = ScheduleSettings()
    share = min(1.0, chunks / CHUNKS)
    steps = default.chunk_steps * (chunks + 2 * _WARM_CHUNKS)
    schedule = ScheduleSettings(
        steps_per_task=steps,
        update_after=default.chunk_steps,
        random_steps=default.chunk_steps,
        evaluation_episodes=max(1, round(share * default.evaluation_episodes)),
        deterministic_episodes=round(share * default.deterministic_episodes),
        # Old heads take turns at the start of a task, which must fit.
        replay_capacity=max(steps, environments * tasks * horizon_steps(last, WorldSettings())),
        environments=environments,
    )
    settings = Settings(
        learner=LearnerSettings(sac=SacSettings(precision=precision)), schedule=schedule
    )
    names = [task for task in TASKS if task != last] + [last]
    return make_spec(method, ",".join((names * 2)[-tasks:]), range(runs), settings)


def acting_as_trained(spec: FleetSpec) -> FleetSpec:
    """Return the fleet with the package's trained policies acting in place of those it learns.

    The physics of robots that touch things takes longer than that of an untrained policy's.
    """
    flat = np.stack(
        [
            np.concatenate([layer.ravel() for layer in load_policy(task).layers.values()])
            for task in spec.runs[0].task_names
        ]
    )
    learned = type(spec.method)

    def actor_for_task(self: Method, method_state: Any, actor: Params, task: Array) -> Params:
        actor = learned.actor_for_task(self, method_state, actor, task)
        one_head, unravel = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], actor["heads"]))
        trunk, head = jnp.split(jnp.asarray(flat)[task], [flat.shape[1] - one_head.size])
        heads = jax.tree.map(
            lambda leaf, all_heads: jnp.broadcast_to(leaf, all_heads.shape),
            unravel(head),
            actor["heads"],
        )
        return {"trunk": trunk, "heads": heads}

    trained = type("Trained", (learned,), {"actor_for_task": actor_for_task})
    fields = {field.name: getattr(spec.method, field.name) for field in dataclasses.fields(learned)}
    return dataclasses.replace(spec, method=trained(**fields))


def measure(spec: FleetSpec, chunks: int) -> dict[str, Any]:
    """Measure one fleet at the last of its tasks, with old tasks in its replay.

    Measures `chunks` chunks with everything together, evaluations included, then the learner
    alone, then the workers alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder), spec.describe())
        trainer = Trainer(spec, Path(folder), store, Callback())
        try:
            _go_to_last_task(trainer)
            rates = _rates(trainer, chunks)
        finally:
            trainer.close()
    return {
        "runs": len(spec.runs),
        "environments": spec.settings.schedule.environments,
        "tasks": spec.tasks,
        **rates,
    }


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
    runs = len(trainer.names)
    for _ in range(_WARM_CHUNKS):
        trainer.advance()
    # The workers that evaluate start, and load their tasks, before the time is taken.
    trainer.evaluate()
    trainer.flush()
    trainer.evaluation.finish()
    jax.block_until_ready(trainer.state)
    start = time.perf_counter()
    _train(trainer, chunks)
    together = time.perf_counter() - start

    # Work in other threads would slow down the learner and the workers while they run alone.
    trainer.recorder.write_networks(trainer.progress)
    while trainer.pool.ordered:
        trainer.pool.take()
    start = time.perf_counter()
    for _ in range(chunks):
        trainer.update()
    jax.block_until_ready(trainer.state)
    learning = time.perf_counter() - start

    requests = [ChunkRequest(trainer.task, trainer.progress.steps, trainer.policies(trainer.task))]
    start = time.perf_counter()
    ahead = min(chunks, 1 + schedule.policy_lag)  # as in training, orders come before their time
    for _ in range(ahead):
        trainer.pool.order(requests)
    for _ in range(chunks - ahead):
        trainer.pool.take()
        trainer.pool.order(requests)
    for _ in range(ahead):
        trainer.pool.take()
    collecting = time.perf_counter() - start
    steps = chunks * schedule.chunk_steps
    return {
        "steps_per_s": steps / together,
        "transitions_per_s": runs * steps / together,
        "learner_alone_per_s": runs * steps / learning,
        "workers_alone_per_s": runs * steps / collecting,
        "learner_waits": max(0.0, 1.0 - learning / together),
    }


def _train(trainer: Trainer, chunks: int) -> None:
    """Train at the default evaluation interval.

    Every evaluation starts at the beginning of its interval and is waited for at the end, where
    the next one would be due.
    """
    for chunk in range(chunks):
        if chunk % CHUNKS == 0:
            trainer.evaluation.finish()
            trainer.evaluate()
        trainer.advance()
        trainer.evaluation.report_finished()
    jax.block_until_ready(trainer.state)
    trainer.evaluation.finish()
