"""`recall bench`: speeds on this machine, measured together with those of other libraries."""

import itertools
from typing import Annotated, Any

from recall.commands.show import AsJson, print_json, print_rows, tell
from recall.errors import RecallError, UnknownNameError
from recall.settings import PrecisionName, RemedyName
from recall.settings.checked import Count, Range


def bench_worlds(steps_per_task: Count = 4000, json: AsJson = False) -> None:
    """Measure steps per second of the ten tasks: ours, Meta-World's and envpool's, if installed.

    Args:
        steps_per_task: Steps per task for every library; more are steadier.
        json: Print one JSON document.
    """
    from recall.bench import worlds

    result = worlds.measure(steps_per_task, tell)
    if json:
        print_json(result)
        return
    print_rows(result.pop("rows"))
    print_rows([result])


def bench_learner(
    runs: tuple[Count, ...] = (1, 5, 40),
    tasks: Count = 3,
    methods: tuple[str, ...] = ("fine_tuning", "perfect_memory", "recall"),
    precision: PrecisionName = "default",
    remedies: tuple[RemedyName, ...] = ("none",),
    json: AsJson = False,
) -> None:
    """Measure updates per second at the paper's sizes.

    Args:
        runs: Numbers of runs to train at once; each gives a row.
        tasks: Length of the sequence; the last task is measured.
        methods: Names of methods; an empty list measures all.
        precision: Precision of matrix products; see the settings.
        remedies: Remedies for plasticity; each gives a row.
        json: Print one JSON document.
    """
    from recall.bench import apart, learner
    from recall.methods import METHODS, method_class

    names = [method_class(name).name for name in methods or METHODS]
    rows = []
    for name, remedy, count in itertools.product(names, remedies, runs):
        tell(f"{name}, remedy {remedy}, runs {count}")
        rows += apart(learner.measure, name, count, tasks, precision, remedy)
    _show(rows, apart(learner.device)[0], precision, json)


def bench_fleet(
    runs: tuple[Count, ...] = (1, 8, 24, 40),
    method: str = "recall",
    precision: PrecisionName = "default",
    chunks: Count | None = None,
    tasks: tuple[Annotated[int, Range(least=1, most=20)], ...] = (3, 20),
    environments: Count = 1,
    last: str = "handle-press-side",
    json: AsJson = False,
) -> None:
    """Measure whole fleets with their evaluations, and the learner and the workers alone.

    Args:
        runs: Numbers of runs to train at once; each gives a row.
        method: Name of the method to train; see `recall list methods`.
        precision: Precision of matrix products; see the settings.
        chunks: Number of chunks of 50 steps to measure; with fewer than there are between two
            evaluations (the default), an evaluation has fewer episodes.
        tasks: Lengths of sequences, of which the last task is measured.
        environments: Environments in which each run collects at the same time.
        last: Robot task that is measured; the physics of some takes twice as long.
        json: Print one JSON document.
    """
    from recall.bench import fleet, learner

    chunks = fleet.CHUNKS if chunks is None else chunks
    if last not in fleet.TASKS:
        raise UnknownNameError("robot task", last, fleet.TASKS)
    rows = []
    for length, count in itertools.product(tasks, runs):
        tell(f"{method}, runs {count}, tasks {length}")
        spec = fleet.spec_of(count, method, precision, chunks, length, environments, last)
        rows.append(fleet.measure(fleet.acting_as_trained(spec), chunks))
    _show(rows, learner.device(), precision, json)


def bench_replicas(runs: Annotated[int, Range(least=2)] = 24, json: AsJson = False) -> None:
    """Check that equal runs stay equal bit by bit, however the learner is compiled.

    Every way of compiling is tried alone and beside a second such process.

    Args:
        runs: Number of equal runs in the fleet.
        json: Print one JSON document.
    """
    import os

    from recall.bench import apart, learner

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leaves room for a neighbour
    rows: list[dict[str, Any]] = []
    for neighbour, mode, unroll in itertools.product((False, True), ("CONCURRENT", "LHS"), (1, 2)):
        tell(f"{mode}, {unroll} updates in the loop's body" + ", with a neighbour" * neighbour)
        choices = (runs, 200, "bfloat16", mode, unroll)
        found = apart(learner.train_replicas, *choices, copies=1 + neighbour)
        rows += [row | {"neighbour": neighbour} for row in found]
    print_rows(rows, json)
    if any(row["unequal"] or row["failed"] for row in rows):
        raise RecallError("equal runs did not stay equal: do not trust this device with results")


def _show(rows: list[dict[str, Any]], device: str, precision: str, json: bool) -> None:
    if json:
        print_json({"device": device, "precision": precision, "rows": rows})
        return
    print_rows(rows)
    tell(f"on {device}, {precision} products")
