"""What `recall.learn.method.Method` promises, for every registered method."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.config.resolve import resolve
from recall.errors import BadValueError, RecallError
from recall.learn import fleet
from recall.learn.agent import LearnerState
from recall.methods import METHODS, Method, method_class
from recall.training.checkpoint import Checkpoints
from tests.factories.method_fleets import MEMORY, TASKS, SmallFleet, assert_same, leaves, small


def shapes(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), tree)


def saved_and_restored(state: LearnerState, folder: Path) -> LearnerState:
    checkpoints = Checkpoints(folder)
    checkpoints.save(state, {}, {})
    found = checkpoints.restore(state, lambda metadata: None)
    return jax.tree.map(jnp.asarray, found[0])


# The methods, and settings of theirs that lead a fleet another way.
LIVES = {name: (name, {}) for name in METHODS} | {
    "online_perfect_memory": ("perfect_memory", {"replay_mode": "online"}),
    "multi_task_popart": ("multi_task", {"normalise_targets": True}),
}


@pytest.mark.slow
@pytest.mark.parametrize("life", LIVES)
def test_evaluations_and_pauses_change_nothing_in_three_tasks(life, tmp_path):
    """Three tasks, twice: once plainly, once with evaluations and a stop in the middle of each."""
    name, changes = LIVES[life]
    plain = SmallFleet(small(name, **changes))
    stages = plain.task_schedule.stages
    before, compiled = shapes(plain.state), fleet.burst._cache_size()
    groups = {fleet.groups_of(plain.agent, task) for task in range(TASKS)}
    for _ in range(stages):
        plain.start()
        plain.burst()
        metrics = plain.burst()
        acting = plain.policies(plain.task, collecting=True)
        assert not np.array_equal(plain.policies(plain.task), acting), "an average is evaluated"
        plain.end()
        assert all(value.shape[0] == plain.runs for value in metrics.values())
    assert shapes(plain.state) == before, "a state's structure may not change"
    # Fewer than one where an earlier test of this process compiled the same stage.
    once = fleet.burst._cache_size()
    assert once - compiled <= len(groups), "one compilation per stage"
    assert all(np.isfinite(leaf).all() for leaf in leaves(plain.state.trainable))
    assert np.all(np.asarray(plain.state.failed_at) == -1)
    first, twin, other = (plain.one_run(run)[0] for run in range(3))
    assert_same(first, twin)
    assert not np.array_equal(plain.policies(0)[0], plain.policies(0)[2])
    assert not np.array_equal(leaves(first.trainable.actor)[0], leaves(other.trainable.actor)[0])

    disturbed = SmallFleet(small(name, **changes))
    for _ in range(stages):
        disturbed.start()
        disturbed.burst()
        for task in range(TASKS):
            assert np.isfinite(disturbed.policies(task)).all()
        disturbed.state = saved_and_restored(disturbed.state, tmp_path)
        disturbed.burst()
        disturbed.end()
    assert fleet.burst._cache_size() == once, "nothing compiled again for a resumed or second fleet"
    assert_same(plain.state, disturbed.state)
    assert_same(plain.replay, disturbed.replay)


@pytest.mark.parametrize("name", METHODS)
def test_what_is_evaluated_is_what_is_stored_and_held_on_to(name):
    """Whatever the collecting actor is, the end of a task and its archive depend on the average."""

    def first_task(scale: float) -> SmallFleet:
        run = SmallFleet(small(name))
        run.start()
        actor = jax.tree.map(np.asarray, run.state.trainable.actor)  # NumPy compiles nothing
        average = jax.tree.map(lambda leaf: np.float32(1.5) * leaf, actor)
        actor = jax.tree.map(lambda leaf: np.float32(scale) * leaf, actor)
        trainable = run.state.trainable._replace(actor=actor, averaged=average)
        run.state = fleet.end_task(
            run.agent, run.state._replace(trainable=trainable), run.replay, run.view()
        )
        if run.method.stores_old_data() and run.method.collects == "current":
            run.replay = fleet.archive(run.agent, run.state, run.replay, run.view())
        return run

    one, other = first_task(1.0), first_task(3.0)
    np.testing.assert_array_equal(one.policies(0), other.policies(0))
    assert_same(one.state.method_state, other.state.method_state)
    assert_same(one.replay, other.replay)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_what_reports_say_of_it(method):
    assert method_class(method.name) is method
    assert re.fullmatch(r"[a-z0-9_]+", method.name)
    assert re.search(r"(19|20)\d\d", method.reference), "author, title, year"
    assert method.summary.endswith(".")
    assert len(method.summary) <= 80
    assert re.fullmatch("#[0-9a-f]{6}", method.colour)
    assert len(method.__doc__) < 200
    hash(method())  # agents are keys of compilations


def test_an_unknown_method_is_refused_with_the_nearest_name():
    with pytest.raises(RecallError, match="packnet"):
        method_class("pack_net")


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("fine_tuning", {"batch_size": 0}),
        ("recall", {"max_old_tasks": 0}),
        ("agem", {"memory_per_task": -1}),  # the bound of a base class holds
        ("clonex", {"clip_norm": 0.0}),
        ("packnet", {"retraining_updates": -5}),
        ("ewc", {"weight": -1.0}),
        ("ewc", {"importance_floor": -1.0}),
        ("mas", {"critic_weight": -1.0}),
        ("l2", {"importance_batches": 0}),
        ("packnet", {"reset_optimiser": False}),
        ("packnet", {"actor_heads": "separate"}),
        ("ssde", {"reset_optimiser": False}),
        ("ssde", {"actor_heads": "separate"}),
        ("ssde", {"sampling": "uniform", "memory_per_task": None}),
        ("ssde", {"best_return": True}),
        ("ssde", {"active_units": 0.0}),
        ("clonex", {"weight": -1.0}),
        ("clonex", {"sampling": "uniform"}),
        ("clear", {"normalise_targets": True}),
        ("agem", {"sampling": "new"}),
        ("recall", {"memory_per_task": 0}),
        ("recall", {"distillation_weight": -1.0}),
        ("perfect_memory", {"memory_per_task": 0}),
        ("vcl", {"weight": -1.0}),
        ("vcl", {"initial_log_std": 1.0}),
        ("reset", {"critic_heads": "shallow"}),
        ("multi_task", {"sampling": "new"}),
        ("multi_task", {"memory_per_task": 100}),
        ("perfect_memory", {"memory_per_task": 100, "replay_mode": "online"}),
    ],
)
def test_values_that_a_method_could_not_use_are_refused(name, bad):
    with pytest.raises(BadValueError, match=re.escape(str(next(iter(bad.values()))))):
        METHODS[name](**bad)


def test_the_papers_settings_are_there():
    """Appendix B, and Continual World's for what the paper does not compare."""
    chosen = {
        "ewc": {"weight": 1e4, "critic_weight": 0.0, "importance_floor": 1e-5},
        "packnet": {"retraining_updates": 100_000},
        "clonex": {
            "weight": 100.0, "critic_weight": 0.0, "memory_per_task": 10_000, "clip_norm": 0.1,
        },
        "clear": {"weight": 0.01, "critic_weight": 0.005, "memory_per_task": None},
        "perfect_memory": {"batch_size": 512, "memory_per_task": None},
        "recall": {
            "distillation_weight": 10.0, "distillation_kl": "mean", "clip_norm": 0.1,
            "batch_size": 128, "memory_per_task": None,
        },
        "l2": {"weight": 1e5},
        "mas": {"weight": 1e4},
        "vcl": {"weight": 1.0, "first_task_kl": False, "initial_log_std": -3.0},
        "agem": {"memory_per_task": 10_000, "old_batch_size": 128},
        "multi_task": {"batch_size": 128, "normalise_targets": False, "memory_per_task": None},
    }  # fmt: skip
    for name, settings in chosen.items():
        for setting, value in settings.items():
            assert getattr(METHODS[name](), setting) == value, (name, setting)
    sac = resolve("recall", "push", preset="paper").settings.learner.sac
    assert (sac.learning_rate, sac.discount, sac.target_smoothing) == (1e-3, 0.99, 0.005)
    assert sac.target_output_std == 0.089


def test_fine_tuning_is_the_defaults():
    own = {name for name in vars(METHODS["fine_tuning"]) if not name.startswith("_")}
    assert own == {"name", "label", "summary", "reference", "colour"}
    assert dataclasses.asdict(METHODS["fine_tuning"]()) == dataclasses.asdict(Method())


def test_every_method_says_for_itself_what_it_is():
    for said in ("name", "label", "summary", "reference", "colour"):
        assert all(said in vars(method) for method in METHODS.values()), said
        if said != "reference":
            assert len({getattr(method, said) for method in METHODS.values()}) == len(METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_method_that_accepts_balanced_sampling_can_be_trained_with_it(name):
    """New and old rows then have a trunk each, which a method's own terms must not stumble over."""
    try:
        method = small(name, sampling="balanced", memory_per_task=MEMORY)
    except BadValueError:
        assert name in ("packnet", "ssde", "multi_task")
        return
    run = SmallFleet(method)
    run.pass_by()
    run.start()
    fleet.burst.lower(*run.next_burst())
