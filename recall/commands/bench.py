"""`recall bench`: speeds on this machine, measured together with those of other libraries."""

from typing import Any, Literal

from recall.commands.show import AsJson, print_json, print_rows, tell
from recall.errors import RecallError
from recall.settings import RemedyName

Precision = Literal["default", "float32", "bfloat16"]


def bench_worlds(steps_per_task: int = 4000, json: AsJson = False) -> None:
    """Measure steps per second of the ten tasks: ours, Meta-World's and envpool's, if installed.

    Args:
        steps_per_task: Steps per task for every library; more are steadier.
        json: Print one JSON document.
    """
    from recall.bench import worlds

    result = worlds.bench_worlds(steps_per_task, progress=tell)
    _show(result, worlds.tables(result), json)


def bench_learner(
    runs: tuple[int, ...] = (1, 5, 40),
    tasks: int = 3,
    methods: tuple[str, ...] = ("fine_tuning", "perfect_memory", "recall"),
    precision: Precision = "default",
    remedies: tuple[RemedyName, ...] = ("none",),
    json: AsJson = False,
) -> None:
    """Measure updates per second at the paper's sizes, and the speed of a large matrix product.

    Args:
        runs: Numbers of runs to train at once; each gives a row.
        tasks: Length of the sequence; the last task is measured.
        methods: Names of methods; an empty list measures all.
        precision: Precision of matrix products; see the settings.
        remedies: Remedies for plasticity; each gives a row.
        json: Print one JSON document.
    """
    from recall.bench import learner

    result = learner.bench_learner(runs, tasks, methods, precision, remedies, progress=tell)
    _show(result, learner.tables(result), json)


def bench_fleet(
    runs: tuple[int, ...] = (1, 8, 24, 40),
    method: str = "recall",
    precision: Precision = "default",
    chunks: int | None = None,
    tasks: tuple[int, ...] = (3, 20),
    environments: int = 1,
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
    from recall.bench import fleet

    chunks = fleet.CHUNKS if chunks is None else chunks
    choices = (runs, method, precision, chunks, tasks, environments, last)
    result = fleet.bench_fleet(*choices, progress=tell)
    _show(result, fleet.tables(result), json)


def bench_replicas(runs: int = 24, json: AsJson = False) -> None:
    """Check that equal runs stay equal bit by bit, however the learner is compiled.

    Args:
        runs: Number of equal runs in the fleet.
        json: Print one JSON document.
    """
    from recall.bench import replicas

    rows = replicas.bench_replicas(runs, progress=tell)
    print_rows(rows, json)
    if any(row["unequal"] or row["failed"] for row in rows):
        raise RecallError("equal runs did not stay equal: do not trust this device with results")


def _show(result: dict[str, Any], tables: list[list[dict[str, Any]]], json: bool) -> None:
    if json:
        print_json(result)
        return
    for rows in filter(None, tables):
        print_rows(rows)
    if device := result.get("device"):
        tell(f"on {device}, {result['precision']} products")
