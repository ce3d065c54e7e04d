"""The start of a task: old heads and random actions take turns, and the better one goes on.

In the first `random_steps` steps of a later task, uniformly random actions and every old head act
in turns of whole episodes. All of it goes to replay and counts as steps. Then the old head with
the highest return is copied, if it earned more than random actions did.
"""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Turns:
    """Who acts when in the first `steps` steps of a task: random actions, then each old head."""

    heads: int
    turn_steps: int
    steps: int

    def actor(self, step: int) -> int:
        """Return what acts at a step: the number of an old head, or -1 for random actions."""
        return step // self.turn_steps % (self.heads + 1) - 1

    def scores(self, reward: Array, ended: Array, environments: int) -> Array:
        """Return the mean return of random actions and of every old head, [run, 1 + head].

        `reward` and `ended` are [run, step]. Only episodes within one turn count; NaN if none do.
        """
        runs = len(reward)
        totals, counts = np.zeros((2, runs, self.heads + 1))
        turn = np.arange(self.steps) // self.turn_steps
        for run in range(runs):
            for environment in range(environments):
                mine = slice(environment, self.steps, environments)
                ends = np.flatnonzero(ended[run, mine]) + 1
                starts = np.concatenate([[0], ends[:-1]])
                for start, end in zip(starts, ends, strict=True):
                    turns = turn[mine][[start, end - 1]]
                    if turns[0] == turns[1]:
                        actor = turns[0] % (self.heads + 1)
                        totals[run, actor] += reward[run, mine][start:end].sum(dtype=float)
                        counts[run, actor] += 1
        with np.errstate(invalid="ignore"):
            scores: Array = totals / counts
        return scores


def best_heads(scores: Array) -> Array:
    """Return each run's best old head, [run], or -1 where none earned more than random actions.

    `scores` is [run, 1 + head], random actions first.
    """
    known = np.where(np.isnan(scores), -np.inf, scores)
    return np.argmax(known, axis=1) - 1
