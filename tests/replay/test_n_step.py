"""n-step returns with known answers: episodes, rings that wrap, environments, kept samples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall.collect.transition import Columns
from recall.nets.gaussian import Gaussian
from recall.replay import buffer
from recall.replay.batch import ReplayView, Stored
from recall.replay.n_step import NStep
from tests.factories.learners import drawn

COLUMNS = Columns(observation_size=1, action_size=1)
DISCOUNT = 0.5


class Ring:
    """A ring of `capacity` slots, filled step by step by alternating environments."""

    def __init__(self, capacity: int, environments: int, length: int, terminates: bool):
        self.rows = np.zeros((capacity, COLUMNS.width), np.float32)
        self.environments, self.length, self.terminates = environments, length, terminates
        self.steps: list[tuple[int, int]] = []  # (environment, its step) of every row so far

    def fill(self, count: int) -> None:
        """Append rows: the observation is 100 environment + step, the reward 1 + step."""
        for number in range(count):
            environment, step = number % self.environments, number // self.environments
            row = self.rows[number % len(self.rows)]
            ends = step % self.length == self.length - 1
            row[0] = 100 * environment + step
            row[2], row[3], row[4] = (
                1 + step,
                ends and self.terminates,
                ends and not self.terminates,
            )
            row[5] = 100 * environment + step + 0.5
            self.steps.append((environment, step))

    def expected(self, number: int, n: int) -> tuple[float, float, float]:
        """Return, discount and next observation of row `number`, by walking its episode."""
        environment, step = self.steps[number]
        newest = max(each for owner, each in self.steps if owner == environment)
        last = min(step + n - 1, newest, step - step % self.length + self.length - 1)
        returns = sum(DISCOUNT ** (k - step) * (1 + k) for k in range(step, last + 1))
        over = self.terminates and last % self.length == self.length - 1
        discount = 0.0 if over else DISCOUNT ** (last - step + 1)
        return returns, discount, 100 * environment + last + 0.5

    def view(self, task: int = 0, memory: int = 0) -> ReplayView:
        stored, count = min(len(self.steps), len(self.rows)), len(self.steps)
        sizes = [min(memory, stored) if each < task else 0 for each in range(2)]
        numbers = (task, stored, sizes, [count, count], self.environments)
        return ReplayView(*map(jnp.asarray, numbers))

    def held(self) -> range:
        return range(max(0, len(self.steps) - len(self.rows)), len(self.steps))


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("terminates", [True, False])
@pytest.mark.parametrize(
    ("environments", "count"), [(1, 7), (1, 24), (1, 33), (2, 18), (2, 34), (3, 60)]
)
def test_every_row_has_the_return_of_its_own_episode(n, terminates, environments, count):
    """In rings that are not yet full, just full, and written over."""
    ring = Ring(24, environments, length=4, terminates=terminates)
    ring.fill(count)
    replay = buffer.Replay(jnp.asarray(ring.rows), jnp.zeros((0, 0, COLUMNS.old_width)))
    slots = [number % 24 for number in ring.held()]
    bits = jnp.asarray(slots, jnp.uint32)
    batch = drawn(buffer.sample_new, replay, ring.view(), COLUMNS, NStep(n, DISCOUNT), bits)
    expected = np.array([ring.expected(number, n) for number in ring.held()])
    np.testing.assert_allclose(batch.future.returns, expected[:, 0], rtol=1e-6)
    np.testing.assert_allclose(batch.future.discount, expected[:, 1], rtol=1e-6)
    np.testing.assert_allclose(batch.future.next_observation[:, 0], expected[:, 2])
    np.testing.assert_allclose(batch.reward, [1 + ring.steps[each][1] for each in ring.held()])


def archived(ring: Ring, memory: int, n: int) -> buffer.Replay:
    """Return replay in the second task: the ring in D_old, D_new full of other rows."""

    def networks(observation, action):
        one = jnp.ones_like(action)
        return Stored(Gaussian(one, one), jnp.ones((2, len(action))))

    old = jnp.zeros((1, memory, COLUMNS.old_width))
    replay = buffer.Replay(jnp.asarray(ring.rows), old)
    key = jax.random.PRNGKey(0)
    replay = buffer.archive(replay, ring.view(), networks, COLUMNS, NStep(n, DISCOUNT), key)
    return replay._replace(new=jnp.full_like(replay.new, 7.0).at[:, 4].set(1.0))


@pytest.mark.parametrize("memory", [24, 10], ids=["ring", "sample"])
@pytest.mark.parametrize("environments", [1, 2])
@pytest.mark.parametrize("sampling", ["balanced", "uniform"])
def test_old_rows_keep_their_futures(memory, environments, sampling):
    """Whether a task is kept whole, in order, or as a sample of single rows."""
    ring, n_step = Ring(24, environments, length=4, terminates=True), NStep(3, DISCOUNT)
    ring.fill(34)
    replay, view = archived(ring, memory, 3), ring.view(1, memory)
    if sampling == "balanced":
        bits = jnp.arange(4 + memory, dtype=jnp.uint32)
        bits = bits.at[4:].set(jnp.arange(memory, dtype=jnp.uint32))
        batch = drawn(buffer.sample_balanced, replay, view, COLUMNS, n_step, 4, np.arange(2), bits)
    else:
        bits = jnp.arange(24 + memory, dtype=jnp.uint32)
        batch = drawn(buffer.sample_uniform, replay, view, COLUMNS, n_step, bits)
    old = np.asarray(batch.new) == 0
    assert old.sum() == memory
    of_observation = {
        100 * environment + step: ring.expected(number, 3)
        for number, (environment, step) in enumerate(ring.steps)
    }
    expected = np.array([of_observation[int(each)] for each in batch.observation[old, 0]])
    np.testing.assert_allclose(batch.future.returns[old], expected[:, 0], rtol=1e-6)
    np.testing.assert_allclose(batch.future.discount[old], expected[:, 1], rtol=1e-6)
    np.testing.assert_allclose(batch.future.next_observation[old, 0], expected[:, 2])
    np.testing.assert_array_equal(batch.future.returns[~old], 7.0)
    np.testing.assert_array_equal(batch.future.discount[~old], DISCOUNT * (1 - 7.0))
