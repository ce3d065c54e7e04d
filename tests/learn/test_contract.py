"""States and metrics of methods that could not be saved or recorded are refused."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp
import pytest

import recall
from recall.errors import BadValueError
from recall.learn.contract import RECORD_FIELDS, check_contract
from recall.methods import METHODS, Method
from recall.replay.buffer import sample_uniform
from recall.runs.health import Symptom
from recall.runs.training_records import health_record, score_records, training_records
from tests.factories.learners import make_agent


@dataclass(frozen=True)
class Own(Method):
    """A method with what a test gives it."""

    name: ClassVar[str] = "own"
    at_start: ClassVar[object] = ()
    at_end: ClassVar[object] = ()
    metrics: ClassVar[dict] = {}
    key_type: ClassVar[type] = jnp.uint32

    def init(self, agent, state):
        return self.at_start

    def extra_actor_loss(self, agent, method_state, actor, batch, policy):
        return 0.0, dict(self.metrics)

    def on_task_end(self, agent, state, task, draw, key):
        return state._replace(method_state=self.at_end)

    def on_task_start(self, agent, state, task):
        return state._replace(key=state.key.astype(self.key_type))


def own(**values) -> Method:
    return dataclass(frozen=True)(type("Own", (Own,), values))()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_of_the_package_keeps_it(method):
    check_contract(make_agent(replace(method(), batch_size=8)))


@pytest.mark.parametrize(
    ("at_start", "at_end", "told"),
    [
        (
            {"on": jnp.zeros(())},
            {"on": jnp.ones((), jnp.int32)},
            r"own: on_task_end returns state.method_state\['on'\] as int32\[\], but at the start "
            r"it is float32\[\]",
        ),
        (None, jnp.zeros(3), r"method_state as float32\[3\], but at the start it is nothing"),
        (jnp.zeros(3), jnp.zeros(4), r"as float32\[4\], but at the start it is float32\[3\]"),
    ],
    ids=["type", "structure", "shape"],
)
def test_a_state_that_changes_is_refused(at_start, at_end, told):
    with pytest.raises(BadValueError, match=told):
        check_contract(make_agent(own(at_start=at_start, at_end=at_end)))


def test_a_state_that_changes_when_a_task_starts_is_refused():
    with pytest.raises(BadValueError, match=r"on_task_start returns state.key as int32"):
        check_contract(make_agent(own(key_type=jnp.int32)))


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ({"step": jnp.zeros(())}, "'step' has the name of a record's own field"),
        ({"loss_q": jnp.zeros(())}, "'loss_q' is returned twice"),
        ({"alpha": jnp.zeros(())}, "'alpha' is returned twice"),
        ({"errors": jnp.zeros(3)}, r"one number per task \[4\], but of shape \[3\]"),
        ({"errors": {"a": jnp.zeros(())}}, r"per task \[4\], but a dict"),
    ],
)
def test_metrics_that_cannot_be_recorded_are_refused(metrics, told):
    with pytest.raises(BadValueError, match=told):
        check_contract(make_agent(own(metrics=metrics)))


def test_rows_of_heads_that_an_update_does_not_have_are_refused():
    def sample(self, agent, method_state, replay, view, heads, bits):
        return sample_uniform(replay, view, agent.columns, agent.n_step, bits)

    with pytest.raises(BadValueError, match="rows of 4 heads, but it was called with 1"):
        check_contract(make_agent(own(sample=sample)))


def test_numbers_and_arrays_by_task_are_metrics():
    check_contract(make_agent(own(metrics={"one": jnp.zeros(()), "each": jnp.zeros(4)})))


def test_the_fields_of_records_are_known():
    records = [
        *training_records(1, [0], [[0, 1.0, 2.0]], {}),
        *score_records(jnp.zeros((1, 1)), jnp.zeros(1, int), 1, 1),
        health_record(0, 1, Symptom("odd", 0, "it is odd")),
    ]
    assert set().union(*records) == RECORD_FIELDS


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ({"on_task_end": lambda self, *_: None}, "on_task_end returns a NoneType; expected the le"),
        ({"extra_actor_los": lambda self, *_: (0.0, {})}, "did you mean extra_actor_loss?"),
        ({"extra_actor_loss": lambda self: (0.0, {})}, "TypeError: .* were given"),
        ({"q_loss": lambda self, *_: {}["missing"]}, rf"KeyError: 'missing' \({__file__}:\d+\)"),
    ],
    ids=["no state", "misspelt", "arguments", "exception"],
)
def test_mistakes_in_functions_are_named_before_anything_is_written(function, told, tmp_path):
    with pytest.raises(BadValueError, match=f"method own.*{told}"):
        recall.train(own(**function), "point-slide", preset="quick", out=tmp_path / "fleet")
    assert not (tmp_path / "fleet").exists()


@pytest.mark.parametrize(
    "returned", [jnp.zeros(()), (0.0, {}, {}), (jnp.zeros(3), {}), ("a", {}), (0.0, 1.0)]
)
def test_a_term_that_cannot_be_added_to_the_loss_is_refused(returned):
    with pytest.raises(BadValueError, match=r"own: extra_actor_loss returns .*; expected a number"):
        check_contract(make_agent(own(extra_actor_loss=lambda self, *_: returned)))
