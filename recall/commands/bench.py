"""`recall bench`: how fast things are, beside their peers, in one run on this machine."""

import sys
from typing import Annotated

from tyro.conf import arg

from recall.commands.show import AsJson, print_json

StepsPerTask = Annotated[
    int | None, arg(help="Steps of each task for everybody; more are steadier. None: the bench's.")
]


def bench_worlds(steps_per_task: StepsPerTask = None, as_json: AsJson = False) -> None:
    """Steps per second of the ten tasks: ours, Meta-World's and, where installed, envpool's."""
    from recall.bench import worlds

    steps = worlds.STEPS_PER_TASK if steps_per_task is None else steps_per_task
    result = worlds.bench_worlds(steps_per_task=steps, progress=_tell)
    (print_json if as_json else worlds.print_table)(result)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
