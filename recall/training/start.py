"""The start of a task: old heads and random actions take turns, and the best old head is copied.

In the first `random_steps` steps of a task, uniformly random actions and every old head act in
turns of whole episodes. All of it goes to replay and counts as steps, so whatever is copied, the
learner has seen what old policies do in the new task. Then the policy of the old head with the
highest return is copied, if it earned more than random actions did (`Method.copies`). Random tails
shorten a share of all heads' episodes alike.
"""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


def turn_steps(episode: int, chunk: int) -> int:
    """Return the length of a turn in whole chunks, in which at least one whole episode fits.

    Where the steps of an `episode` are no whole chunks, episodes drift against turns.
    """
    steps = episode if episode % chunk == 0 else 2 * episode
    return -(-steps // chunk) * chunk


@dataclass(frozen=True)
class Turns:
    """Who acts when in the first `steps` steps of a task: random actions, then each old head."""

    heads: int
    turn_steps: int
    steps: int
    random: bool = True  # whether random actions have a turn; without old heads they have all

    def actor(self, step: int) -> int:
        """Return what acts at a step: the number of an old head, or -1 for random actions."""
        first = -1 if self.random or not self.heads else 0
        return first + step // self.turn_steps % (self.heads - first)

    def scores(self, reward: Array, ended: Array, environments: int) -> Array:
        """Return the mean return of random actions and of every old head, [run, 1 + head].

        `reward` and `ended` are [run, step], where environments alternate. Only episodes within one
        turn count. The score is NaN where there are none.
        """
        totals, counts = np.zeros((2, len(reward), 1 + self.heads))
        turn = np.arange(self.steps) // self.turn_steps
        for run, environment in np.ndindex(len(reward), environments):
            mine = np.arange(environment, self.steps, environments)
            ends = np.flatnonzero(ended[run, mine]) + 1
            for start, end in zip(np.append(0, ends)[:-1], ends, strict=True):
                episode = mine[start:end]
                if turn[episode[0]] == turn[episode[-1]]:
                    actor = 1 + self.actor(episode[0])
                    totals[run, actor] += reward[run, episode].sum(dtype=float)
                    counts[run, actor] += 1
        with np.errstate(invalid="ignore"):
            scores: Array = totals / counts
        return scores


def best_heads(scores: Array) -> Array:
    """Return each run's best old head, [run], or -1 where random actions earned as much.

    `scores` is [run, 1 + head], random actions first.
    """
    known = np.where(np.isnan(scores), -np.inf, scores)
    return np.argmax(known, axis=1) - 1
