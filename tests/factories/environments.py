"""Small Gymnasium environments with known behaviour. Worker processes import this module too."""

import re
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Blank(gymnasium.Env):
    """Always succeeds, and shows a white picture if it is made for that."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = action_space = Box(-1.0, 1.0, (2,))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 1.0, False, False, {"success": True}

    def render(self):
        return np.full((48, 64, 3), 255, np.uint8)


class Counter(gymnasium.Env):
    """Shows how many steps it has had and the last action it got; its action box is lopsided."""

    observation_space = Box(-100.0, 100.0, (2,), np.float32)
    action_space = Box(np.float32(2.0), np.float32(6.0), (1,), np.float32)
    ends_at = breaks_at = None
    success_key = "success"

    def __init__(self, **changes):
        vars(self).update(changes)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.start = self.np_random.uniform()
        return np.array([0.0, self.start], np.float32), {}

    def step(self, action):
        self.steps += 1
        broken = self.steps == self.breaks_at
        shown = [np.nan if broken else self.steps, action[0]]
        info = {self.success_key: self.steps == 2}
        return np.array(shown, np.float32), 1.0, self.steps == self.ends_at, False, info


def counter():
    return Counter()


def ending():
    return Counter(ends_at=3, success_key="is_success")


def breaking():
    return Counter(breaks_at=4)


def failing():
    raise ZeroDivisionError("no such luck")


def discrete():
    return Counter(action_space=Discrete(3))


def image():
    return Counter(observation_space=Box(0, 255, (8, 8, 3), np.uint8))


def unbounded():
    return Counter(action_space=Box(-np.inf, np.inf, (1,), np.float32))


class Point(gymnasium.Env):
    """A task that does what the tests need."""

    observation_space = Box(-1.0, 1.0, (3,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)
    steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seed_given = seed
        return self.np_random.uniform(-1, 1, 3).astype(np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.append(action, 0.5).astype(np.float32), self.reward(), False, False, {}

    def reward(self):
        return 1.0


class Raising(Point):
    def reward(self):
        raise RuntimeError("the gripper fell off")


class Exiting(Point):
    def reward(self):
        raise SystemExit(3)


class Hanging(Point):
    """Its first step never returns to Python: matching this takes longer than anybody waits.

    No signal reaches it but SIGKILL.
    """

    def reward(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.SIGRTMIN))
        return float(bool(re.match("(a+)+$", 64 * "a" + "b")))


class Unmakeable(Point):
    def __init__(self):
        raise OSError("no licence left")


class Unclosable(Point):
    def close(self):
        raise OSError("the port is gone")


class Spent(Point):
    """Pays no number from its 61st step on."""

    def reward(self):
        return np.nan if self.steps > 60 else 1.0


class Broken(Point):
    """Pays no number in a tenth of its episodes, but in none of the first two."""

    def reward(self):
        return np.nan if self.steps > 40 and self.seed_given % 10 == 0 else 1.0


class Fleeting(Point):
    """Its episodes last from 1 to 9 steps, as their seed has it, and pay the actions."""

    def reset(self, *, seed=None, options=None):
        self.steps, self.length = 0, 1 + seed % 9
        return super().reset(seed=seed, options=options)

    def step(self, action):
        observation, *_ = super().step(action)
        return observation, float(action[0]), self.steps == self.length, False, {}
