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
from recall.learn import fleet, turns
from recall.learn.agent import Agent, LearnerState
from recall.learn.method import Method
from recall.learn.sac import describe, update, update_noise
from recall.learn.terms import merged
from recall.nets.arrays import Array, Metrics
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
    state = jax.eval_shape(partial(fleet.init, agent), jnp.zeros(1, jnp.int32))
    replay, view = _replay(agent), _view(agent)
    for task in dict.fromkeys((0, agent.tasks - 1)):
        traced = partial(_updated, fleet.groups_of(agent, task))
        updated, metrics = jax.eval_shape(traced, agent, state, replay, view)
        _check_state(agent, "on_update", state, updated)
        _check_metrics(agent, metrics)
    ended = jax.eval_shape(partial(fleet.end_task, agent), state, replay, view)
    _check_state(agent, "on_task_end", state, ended)
    started = jax.eval_shape(partial(fleet.start_task, agent), state, view.task)
    _check_state(agent, "on_task_start", state, started)


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


def _replay(agent: Agent) -> Replay:
    """Return the shapes of one run's buffers."""
    kept = agent.tasks - 1 if agent.method.stores_old_data() else 0
    return jax.eval_shape(lambda: buffer.init(agent.columns, _ROWS, kept, _ROWS, 1))


def _view(agent: Agent) -> ReplayView:
    def view() -> ReplayView:
        number = jnp.zeros((), jnp.int32)
        counts = jnp.zeros(agent.tasks, jnp.int32)
        return ReplayView(number, number, counts, counts, number)

    return jax.eval_shape(view)


def _updated(
    groups: int, agent: Agent, state: Any, replay: Replay, view: ReplayView
) -> tuple[Any, Metrics]:
    """Carry out the first update of every run."""

    def one_run(agent: Agent, state: Any, replay: Replay) -> tuple[Any, Metrics]:
        number = jnp.zeros((), jnp.int32)
        noise = update_noise(agent, groups, state.key, number)
        heads = agent.method.heads(view, agent.tasks, groups, number)
        part = turns.take(state, heads, groups)
        part, metrics = update(agent, part, replay, view, heads, number, noise)
        state = turns.put(state, part, heads)
        return state, merged(metrics, describe(agent, state))

    updated: tuple[Any, Metrics] = fleet.over_runs(one_run, agent, state, replay)
    return updated


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
        if not isinstance(values, jax.ShapeDtypeStruct) or not _is_recorded(agent, values):
            raise BadValueError(
                f"{told} is neither a number nor an array with one number per task "
                f"[{agent.tasks}], but {_in_words(values)}"
            )


def _is_recorded(agent: Agent, values: Array) -> bool:
    return values.shape[1:] in ((), (agent.tasks,))


def _in_words(values: Any) -> str:
    if not isinstance(values, jax.ShapeDtypeStruct):
        return f"a {type(values).__name__}"
    return f"an array of shape {list(values.shape[1:])}"
