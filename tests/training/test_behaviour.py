"""Who collects which chunk, what that earns, and which old head is copied."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.config.stored import spec_from
from recall.errors import BadValueError
from recall.learn import fleet
from recall.runs.description import read_description
from recall.training.agents import agent_of
from recall.training.behaviour import (
    Behaviour,
    Turns,
    best_heads,
    better_by_test,
    means,
    only_random,
    turn_steps,
)
from recall.training.checkpoint import Progress
from recall.training.trainer import Trainer
from tests.factories.fleets import small_spec, start

RANDOM, OLD, NEW = "random", "old head", "new head"


@pytest.mark.parametrize(
    ("changes", "second"),
    [
        # Chunks that are ordered before the choice, at 200, do not know of it.
        ({}, [RANDOM, OLD, RANDOM, OLD, RANDOM, OLD, NEW]),
        ({"policy_lag": 0}, [RANDOM, OLD, RANDOM, OLD, RANDOM, NEW, NEW]),
        ({"copies": "best_head"}, [OLD, OLD, OLD, OLD, OLD, OLD, NEW]),
        ({"best_return": False}, [RANDOM, RANDOM, RANDOM, RANDOM, NEW, NEW, NEW]),
    ],
    ids=["default", "no lag", "paper", "no copy"],
)
def test_the_first_actions_of_each_stage(changes, second):
    """Episodes have 50 steps, like chunks; 200 steps come before the task's own policy."""
    spec = small_spec(random_steps=200, **changes)
    agent, _ = agent_of(spec)
    behaviour, state = Behaviour(spec, agent), fleet.init(agent, jnp.array([0, 1]))
    old = fleet.flat_policies(agent, state, jnp.asarray(0))

    def who(stage, steps, ahead=0):
        ((_, _, policies),) = behaviour.requests(state, Progress(stage, steps), ahead)
        if policies is None:
            return RANDOM
        return OLD if stage and np.array_equal(policies, old) else NEW

    steps = range(0, 350, 50)
    assert [who(0, each) for each in steps] == [RANDOM] * 4 + [NEW] * 3
    assert [who(1, each) for each in steps] == second
    assert [who(1, each - 50, ahead=50) for each in steps if each] == second[1:]


def test_the_actor_collects_and_not_its_average():
    spec = small_spec()
    agent, _ = agent_of(spec)
    state = fleet.init(agent, jnp.array([0, 1]))
    actor = jax.tree.map(lambda leaf: 2.0 * leaf, state.trainable.actor)
    state = state._replace(trainable=state.trainable._replace(actor=actor))
    ((_, _, policies),) = Behaviour(spec, agent).requests(state, Progress(0, 200))
    trunk = actor["trunk"]
    np.testing.assert_array_equal(policies[:, : trunk.shape[-1]], trunk)


def test_a_fleet_whose_policies_would_never_act_in_a_task_is_warned_of():
    """Four chunks of turns, and with a lag of 1 two that are ordered before a head is chosen."""
    assert only_random(small_spec()) is None
    assert "random_steps 300" in only_random(small_spec(random_steps=300))
    # All tasks are learned in one stage, whose random steps count for all of them together.
    assert only_random(small_spec("multi_task", random_steps=300)) is None
    assert "task 2 of 2" in only_random(small_spec(random_steps=200))
    assert only_random(small_spec(random_steps=200, policy_lag=0)) is None
    assert only_random(small_spec(random_steps=200, best_return=False)) is None
    longer = small_spec(sequence="point-rich,point-poor,point-rich,point-poor", random_steps=0)
    assert "task 4 of 4" in only_random(longer)  # a turn for each of three old heads


@pytest.mark.parametrize(("random_steps", "expected"), [(0, 100), (120, 150), (200, 200)])
def test_every_old_head_has_a_turn_and_turns_are_whole_chunks(random_steps, expected):
    spec = small_spec(random_steps=random_steps)
    behaviour = Behaviour(spec, agent_of(spec)[0])
    assert behaviour.turns(1).steps == expected
    assert behaviour.turns(0).steps == random_steps


def test_a_replay_that_cannot_hold_the_turns_is_refused():
    spec = small_spec(random_steps=200, replay_capacity=100)
    with pytest.raises(BadValueError, match="replay_capacity is 100"):
        Behaviour(spec, agent_of(spec)[0])
    Behaviour(small_spec("fine_tuning", random_steps=200, replay_capacity=100), agent_of(spec)[0])


def test_random_actions_and_old_heads_take_turns():
    turns = Turns(heads=2, turn_steps=10, steps=70)
    actors = [turns.actor(step) for step in range(0, 70, 10)]
    assert actors == [-1, 0, 1, -1, 0, 1, -1]
    assert [turns.actor(step) for step in (9, 10, 19, 20)] == [-1, 0, 0, 1]
    paper = Turns(heads=2, turn_steps=10, steps=70, random=False)
    assert [paper.actor(step) for step in range(0, 40, 10)] == [0, 1, 0, 1]
    first = Turns(heads=0, turn_steps=10, steps=70, random=False)
    assert {first.actor(step) for step in range(70)} == {-1}


@pytest.mark.parametrize("environments", [1, 2])
def test_a_score_is_the_mean_return_of_the_episodes_within_an_actors_turns(environments):
    """Each step pays 1, 10 or 100 by its actor, so a return tells who acted."""
    turns = Turns(heads=2, turn_steps=12, steps=72)
    pays = np.array([10.0 ** (1 + turns.actor(step)) for step in range(72)])
    reward = np.stack([pays, 2.0 * pays])
    ended = np.zeros((2, 72), bool)
    length = 4 * environments  # of an episode, in steps of the run
    for environment in range(environments):
        ended[:, length - environments + environment :: length] = True
    scores = means(turns.returns(reward, ended, environments))
    np.testing.assert_allclose(scores[0], [4.0, 40.0, 400.0])
    np.testing.assert_allclose(scores[1], 2.0 * scores[0])


def test_episodes_across_turns_do_not_count():
    turns = Turns(heads=1, turn_steps=10, steps=40)
    reward, ended = np.ones((1, 40)), np.zeros((1, 40), bool)
    ended[0, [6, 15, 29, 39]] = True  # 0-6 random, 7-15 across, 16-29 across, 30-39 of the head
    np.testing.assert_array_equal(means(turns.returns(reward, ended, 1)), [[7.0, 10.0]])
    ended[0, 39] = False
    np.testing.assert_array_equal(means(turns.returns(reward, ended, 1)), [[7.0, np.nan]])


def test_the_best_old_head_is_chosen_where_it_beats_random_actions():
    scores = [[0.0, 3.0, 1.0], [5.0, -1.0, 4.0], [np.nan, -3.0, -2.0], [1.0, np.nan, np.nan],
              [2.0, 2.0, 0.0]]  # fmt: skip
    np.testing.assert_array_equal(best_heads(np.array(scores)), [0, -1, 1, -1, -1])


@pytest.mark.parametrize("episode", [50, 120, 333])
@pytest.mark.parametrize("heads", [1, 3])
def test_every_actor_has_whole_episodes_however_long_they_are(episode, heads):
    """Chunks have 50 steps, and episodes follow each other without regard to turns."""
    turns = Turns(heads, turn_steps(episode, 50), 10_000)
    ended = np.zeros((1, 10_000), bool)
    ended[0, episode - 1 :: episode] = True
    assert turns.turn_steps % 50 == 0
    np.testing.assert_array_equal(means(turns.returns(np.ones((1, 10_000)), ended, 1)), episode)


def test_a_policy_is_tested_against_random_actions():
    """Known answers: clearly better, better by chance, not varying, too few, and none chosen."""
    random = [1.0, 2.0, 3.0]
    returns = [
        [random, [10.0, 11.0, 12.0]],
        [random, [1.0, 9.0, 2.0]],
        [[0.0, 0.0], [5.0, 5.0]],
        [random, [99.0]],
        [random, [10.0, 11.0, 12.0]],
    ]
    found = better_by_test(returns, np.array([0, 0, 0, 0, -1]))
    np.testing.assert_array_equal(found, [0, -1, 0, -1, -1])


CHUNKS = 6  # of a stage of the small fleet; its updates begin with chunk 1


def watch(trainer: Trainer) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return lists that fill: the policies of each ordered chunk, and those after each chunk."""

    def policies() -> np.ndarray:
        return np.asarray(fleet.flat_policies(trainer.agent, trainer.state, 0, collecting=True))

    collecting, learned = [], [policies()]
    order, keep = trainer.pool.order, trainer._log_chunk

    def watched_order(requests):
        collecting.append(np.asarray(requests[0].policies))
        order(requests)

    def watched_keep(*arguments):
        learned.append(policies())
        keep(*arguments)

    trainer.pool.order, trainer._log_chunk = watched_order, watched_keep
    return collecting, learned


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_a_chunk_is_collected_with_the_policies_from_so_many_bursts_before(tmp_path, lag):
    spec = small_spec("fine_tuning", random_steps=0, policy_lag=lag)
    trainer = start(spec, tmp_path)
    collecting, learned = watch(trainer)
    try:
        trainer.start_stage()
        for _ in range(CHUNKS):
            trainer.advance()
    finally:
        trainer.close()
    assert len(collecting) == CHUNKS
    assert len({each.tobytes() for each in learned}) == CHUNKS  # every burst changes them
    for chunk, policies in enumerate(collecting):
        np.testing.assert_array_equal(policies, learned[max(0, chunk - lag)])


@pytest.mark.parametrize(("overlap", "lag"), [(True, 1), (False, 0)])
def test_what_was_called_overlap_is_a_lag_of_one_or_none(tmp_path, overlap, lag):
    start(small_spec(), tmp_path).close()
    written = json.loads((tmp_path / "run.json").read_text())
    del written["settings"]["schedule"]["policy_lag"]
    written["settings"]["schedule"]["overlap"] = overlap
    (tmp_path / "run.json").write_text(json.dumps(written))
    assert spec_from(read_description(tmp_path)).settings.schedule.policy_lag == lag
