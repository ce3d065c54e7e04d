"""Check that a method keeps the contract, by tracing its functions without computing anything.

What a method returns is part of checkpoints and records. A state of another type than at the start
would train, but could not be resumed, and a metric with the name of a record's field would replace
it. Tracing finds both before the first step.
"""

from difflib import get_close_matches
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from recall.errors import BadValueError
from recall.learn import fleet
from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Method
from recall.nets.arrays import Metrics
from recall.replay import buffer
from recall.replay.batch import ReplayView
from recall.replay.buffer import Replay

RECORD_FIELDS = frozenset(
    {"run", "step", "position", "episode_success", "episode_return"}
    | {"head_returns", "random_return", "best_head", "health", "message"}
)
"""Fields of a training record that are no metrics."""
_ROWS = 1_000  # of each made-up buffer; only shapes are computed


def check_contract(agent: Agent) -> None:
    """Raise BadValueError if the method's states or metrics break the contract.

    Exceptions of the method's own functions pass through, with their tracebacks.
    """
    _check_names(type(agent.method))
    state = fleet.init.eval_shape(agent, jnp.zeros(1, jnp.int32))
    replay, view = jax.eval_shape(partial(_replay_and_view, agent))
    for task in dict.fromkeys((0, agent.tasks - 1)):
        updated, metrics = fleet.burst.eval_shape(
            agent, state, replay, view, view.task, groups=fleet.groups_of(agent, task), updates=1
        )
        _check_state(agent, "on_update", state, updated)
        _check_metrics(agent, metrics)
    ended = fleet.end_task.eval_shape(agent, state, replay, view)
    _check_state(agent, "on_task_end", state, ended)
    started = fleet.start_task.eval_shape(agent, state, view.task)
    _check_state(agent, "on_task_start", state, started)


def _replay_and_view(agent: Agent) -> tuple[Replay, ReplayView]:
    """Return made-up buffers of one run, of which only the shapes are read."""
    kept = agent.tasks - 1 if agent.method.stores_old_data() else 0
    number, counts = jnp.zeros((), jnp.int32), jnp.zeros(agent.tasks, jnp.int32)
    replay = buffer.init(agent.columns, _ROWS, kept, _ROWS, 1)
    return replay, ReplayView(number, number, counts, counts, number)


def _check_names(method: type[Method]) -> None:
    """Raise BadValueError for a misspelt function, which nothing would call."""
    known = [name for name in vars(Method) if not name.startswith("_")]
    for name, value in vars(method).items():
        if (
            callable(value)
            and name not in known
            and (close := get_close_matches(name, known, 1, 0.9))
        ):
            raise BadValueError(
                f"method {method.name}: nothing calls its function {name}; did you mean {close[0]}?"
            )


def _check_state(agent: Agent, function: str, before: Any, after: Any) -> None:
    """Raise BadValueError if a function returns a state of another structure, shape or type."""
    if not isinstance(after, LearnerState):
        raise BadValueError(
            f"method {agent.method.name}: {function} returns a {type(after).__name__}; expected "
            "the learner's state, such as `state._replace(method_state=...)`"
        )
    first, second = (_leaves(state) for state in (before, after))
    for path in (*first, *second):
        if first.get(path) != second.get(path):
            raise BadValueError(
                f"method {agent.method.name}: {function} returns state{path} as "
                f"{second.get(path, 'nothing')}, but at the start it is "
                f"{first.get(path, 'nothing')}. Checkpoints need the same structure, shapes and "
                "types throughout: let `init` return them as they will be"
            )


def _leaves(state: Any) -> dict[str, str]:
    """Return the shape and type of one run's leaves, by their paths."""
    return {
        jax.tree_util.keystr(path): f"{leaf.dtype}{list(leaf.shape[1:])}"
        for path, leaf in jax.tree_util.tree_flatten_with_path(state)[0]
    }


def _check_metrics(agent: Agent, metrics: Metrics) -> None:
    """Raise BadValueError for metrics that a training record cannot hold."""
    for name, values in metrics.items():
        told = f"method {agent.method.name}: the metric {name!r}"
        if name in RECORD_FIELDS:
            raise BadValueError(f"{told} has the name of a record's own field; choose another")
        shape = getattr(values, "shape", None)
        if shape is None or shape[1:] not in ((), (agent.tasks,)):
            raise BadValueError(
                f"{told} is neither a number nor an array with one number per task "
                f"[{agent.tasks}], but "
                + (f"a {type(values).__name__}" if shape is None else f"of shape {list(shape[1:])}")
            )
