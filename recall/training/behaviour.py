"""Who acts in the next chunk: the policies of the state, random actions or old heads.

At the start of a task with best-return exploration, uniformly random actions and every old head act
in turns of whole episodes. Then the old head with the highest return is copied (`Method.copies`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind

from recall.collect.pool import ChunkRequest
from recall.config.spec import FleetSpec
from recall.errors import BadValueError
from recall.learn import fleet
from recall.learn.agent import Agent, LearnerState
from recall.nets.sharding import to_int32
from recall.training.agents import agent_of
from recall.training.checkpoint import Progress
from recall.worlds.registry import horizon_steps

Array = np.ndarray
Returns = list[list[list[float]]]
"""Returns [run][1 + head][episode] in a new task, those of random actions first."""

_LEVEL = 0.05  # of the test behind a start from a tested policy


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

    def returns(self, reward: Array, ended: Array, environments: int) -> Returns:
        """Return the returns of episodes within one turn.

        `reward` and `ended` are [run, step], where environments alternate.
        """
        found: Returns = [[[] for _ in range(1 + self.heads)] for _ in reward]
        turn = np.arange(self.steps) // self.turn_steps
        for run, environment in np.ndindex(len(reward), environments):
            mine = np.arange(environment, self.steps, environments)
            ends = np.flatnonzero(ended[run, mine]) + 1
            for start, end in zip(np.append(0, ends)[:-1], ends, strict=True):
                episode = mine[start:end]
                if turn[episode[0]] == turn[episode[-1]]:
                    actor = 1 + self.actor(episode[0])
                    found[run][actor].append(float(reward[run, episode].sum(dtype=float)))
        return found


def turn_steps(episode: int, chunk: int) -> int:
    """Return the length of a turn in whole chunks, in which at least one whole episode fits."""
    # Where the steps of an episode are no whole chunks, episodes drift against turns.
    steps = episode if episode % chunk == 0 else 2 * episode
    return -(-steps // chunk) * chunk


def means(returns: Returns) -> Array:
    """Return the mean returns, [run, 1 + head]; NaN where there is no episode."""
    return np.array([[np.mean(each) if each else np.nan for each in run] for run in returns])


def better_by_test(returns: Returns, best: Array) -> Array:
    """Return `best` [run], or -1 where it may be better than random actions by chance (Welch)."""

    def is_better(run: list[list[float]], head: int) -> bool:
        random, own = run[0], run[1 + head]
        if head < 0 or min(len(random), len(own)) < 2:
            return False
        if np.ptp(own) == np.ptp(random) == 0:  # no test is needed, and none is possible
            return own[0] > random[0]
        return bool(ttest_ind(own, random, equal_var=False, alternative="greater").pvalue < _LEVEL)

    return np.where(list(map(is_better, returns, best.tolist())), best, -1)


def best_heads(scores: Array) -> Array:
    """Return each run's best old head by `means`, or -1 where random actions earned as much."""
    known = np.where(np.isnan(scores), -np.inf, scores)
    return np.argmax(known, axis=1) - 1


class Behaviour:
    """Chooses policies, or uniformly random actions, for the tasks of a chunk."""

    def __init__(self, spec: FleetSpec, agent: Agent):
        """Raise BadValueError if replay cannot hold the turns, from which old heads are scored."""
        self._agent, self._method, self._spec = agent, spec.method, spec
        self._task_schedule, self._schedule = spec.task_schedule, spec.settings.schedule
        self._turn_steps = [
            turn_steps(
                self._schedule.environments
                * max(horizon_steps(run.tasks[stage], spec.settings.world) for run in spec.runs),
                self._schedule.chunk_steps,
            )
            for stage in range(spec.task_schedule.stages)
        ]
        capacity = self._schedule.replay_capacity
        for turns in map(self.turns, range(spec.task_schedule.stages)):
            if turns.heads and turns.steps > capacity:
                raise BadValueError(
                    f"replay_capacity is {capacity}, but old heads take turns in the first "
                    f"{turns.steps} steps of a task: choose a larger replay_capacity, or "
                    "best_return=False"
                )

    def turns(self, stage: int) -> Turns:
        """Return who acts in the first steps of a stage."""
        heads = stage if self._method.best_return else 0
        random = self._method.copies != "best_head"
        steps = self._schedule.random_steps
        if self._spec.hidden:  # random actions are at the start of the run alone
            steps = max(0, steps - self._task_schedule.steps_at(stage, 0))
        if heads:  # at least one turn for each, in whole chunks
            chunk = self._schedule.chunk_steps
            steps = max(-(-steps // chunk) * chunk, (heads + random) * self._turn_steps[stage])
        return Turns(heads, self._turn_steps[stage], steps, random)

    def first_own_step(self, stage: int) -> int:
        """Return the step of a stage from which on its own policy acts."""
        turns = self.turns(stage)
        # Chunks that are ordered before a head is chosen still belong to the turns.
        ordered = (self._schedule.policy_lag + 1) * self._schedule.chunk_steps if turns.heads else 0
        return turns.steps + ordered

    def requests(
        self, state: LearnerState, progress: Progress, ahead: int = 0
    ) -> list[ChunkRequest]:
        """Return the requests for the chunk that starts `ahead` steps from now; do not wait."""
        stage, steps = progress.stage, progress.steps + ahead
        total = self._task_schedule.steps_at(stage, steps)
        requests = []
        for position in self._task_schedule.chunk(stage, total):
            actor, policies = self.actor(stage, steps, position), None  # None: random actions
            if actor >= 0:
                head, own = to_int32(self._spec.head(actor)), actor == position
                policies = fleet.flat_policies(self._agent, state, head, collecting=own)
                policies.copy_to_host_async()
            collected = self._task_schedule.collected(position, total)
            requests.append(ChunkRequest(position, collected, policies))
        return requests

    def actor(self, stage: int, steps: int, position: int) -> int:
        """Return which head acts for a task after `steps` of a stage; -1 for random actions."""
        learned = position in self._task_schedule.learned(stage)
        if learned and steps < self.first_own_step(stage):
            return self.turns(stage).actor(steps)
        return position


def only_random(spec: FleetSpec) -> str | None:
    """Return a warning about the first stage of a fleet in which its policy never acts, or None."""
    behaviour, schedule = Behaviour(spec, agent_of(spec)[0]), spec.task_schedule
    steps, random = schedule.steps_per_stage, spec.settings.schedule.random_steps
    for stage in range(schedule.stages):
        if behaviour.first_own_step(stage) >= steps:
            heads = behaviour.turns(stage).heads
            return (
                f"warning: with random_steps {random:,}, {'old heads and ' * (heads > 0)}random "
                f"actions act in all {steps:,} steps of task {stage + 1} of {schedule.stages}, so "
                "its own policy never does: choose a larger steps_per_task, or fewer random_steps, "
                f"such as {steps // 10}{', or best_return=False' * (heads > 0)}"
            )
    return None
