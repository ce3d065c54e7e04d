"""Worker processes that play episodes beside training, from a snapshot of the policies.

They are processes of their own with a low priority, so a worker that collects is scheduled before
them: the learner waits for the slowest collecting worker, but nobody waits for these.
"""

from collections.abc import Callable, Sequence

import numpy as np

from recall.collect.crew import Answers, Crew, never
from recall.collect.messages import Episode, EpisodeResult, RunTasks, Setup
from recall.collect.policy import PolicyShape
from recall.settings import WorldSettings
from recall.worlds.registrations import registrations_for
from recall.worlds.simulator import Array

_NICENESS = 10  # about a tenth of a core that a collecting worker or the learner wants as well


class Players:
    """Plays one list of episodes at a time, in the background."""

    def __init__(
        self,
        runs: Sequence[RunTasks],
        world: WorldSettings,
        policy: PolicyShape,
        places: int,
        workers: int,
    ):
        """Start the workers, with memory for `places` policies of every run."""
        setup = Setup(
            runs=tuple(runs),
            environments=1,
            world=world,
            policy=policy,
            chunk_steps=0,
            noise_colour=0.0,
            random_tails=0.0,
            offsets={},
            registrations=registrations_for({task for run in runs for task in run.tasks}),
        )
        shapes = {"eval_policy": ((places, len(runs), policy.size), "float32")}
        self._crew = Crew(setup, shapes, [()] * max(workers, 1), _NICENESS)
        self._answers: Answers | None = None
        self._order: list[int] = []

    @property
    def snapshot(self) -> Array:
        """Policies [place, run, size] from which episodes are played."""
        shared: Array = self._crew.shared["eval_policy"]
        return shared

    def start(self, episodes: Sequence[Episode]) -> None:
        """Start to play these episodes from the snapshot, which must not change meanwhile."""
        batches = deal(episodes, len(self._crew.processes))
        self._order = [index for batch in batches for index in batch]
        self._answers = self._crew.play([[episodes[index] for index in part] for part in batches])

    def ready(self) -> bool:
        """Return True if all episodes have been played. Does not wait."""
        return self._answers is not None and self._answers.arrive()

    def results(self, should_stop: Callable[[], bool] = never) -> list[EpisodeResult]:
        """Wait for the episodes and return their results; raise Abandoned if `should_stop`."""
        assert self._answers is not None, "no episodes were started"
        played = [result for answer in self._answers.wait(should_stop) for result in answer]
        self._answers = None
        results: list[EpisodeResult] = [played[0]] * len(played)
        for index, result in zip(self._order, played, strict=True):
            results[index] = result
        return results

    def process_ids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [process.process.pid for process in self._crew.processes]

    @property
    def restarts(self) -> int:
        """Number of workers that died and were restarted."""
        return self._crew.restarts

    def close(self) -> None:
        """End all workers."""
        self._crew.close()


def deal(episodes: Sequence[Episode], workers: int) -> list[list[int]]:
    """Return the indices of the episodes that each worker plays.

    The episodes of one run on one task stay together: a worker steps them in one batch, with one
    policy. Only if there are fewer such batches than workers are they divided.
    """
    batches: dict[tuple[int, int], list[int]] = {}
    for index, episode in enumerate(episodes):
        batches.setdefault((episode.position, episode.run), []).append(index)
    parts = -(-workers // max(len(batches), 1))
    pieces = [
        piece.tolist()
        for batch in batches.values()
        for piece in np.array_split(np.array(batch), min(parts, len(batch)))
    ]
    shares = np.array_split(np.arange(len(pieces)), workers)
    return [[index for place in share for index in pieces[place]] for share in shares]
