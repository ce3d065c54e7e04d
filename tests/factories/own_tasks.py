"""Tasks of one's own. Worker processes import this module, so it imports little."""

import os
import re
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box


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


class Dying(Point):
    def reward(self):
        os._exit(7)


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
