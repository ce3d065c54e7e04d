"""How runs are shared out over workers, and the memory that they share."""

import os

import pytest

from recall.collect import pool as pool_module
from recall.collect.crew import make_memory
from recall.collect.pool import default_workers, runs_of_workers


@pytest.mark.parametrize(
    ("runs", "workers", "shares"),
    [(40, 16, [3] * 12 + [2] * 2 + [0] * 2), (5, 16, [1] * 5 + [0] * 11), (3, 2, [2, 1])],
)
def test_cores_are_left_over_where_that_delays_nobody(runs, workers, shares):
    parts = runs_of_workers(runs, workers)
    assert [len(part) for part in parts] == shares
    assert sum(parts, ()) == tuple(range(runs))


@pytest.mark.parametrize(
    ("runs", "cores", "expected"), [(1, 2, 2), (5, 2, 5), (40, 16, 40), (50, 16, 48)]
)
def test_every_run_has_a_worker_up_to_three_per_core(monkeypatch, runs, cores, expected):
    monkeypatch.setattr(pool_module, "cores", lambda: cores)
    assert default_workers(runs) == expected


def test_shared_memory_has_no_name_where_there_are_no_anonymous_files(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    descriptor = make_memory(4096)
    try:
        status = os.fstat(descriptor)
        assert (status.st_size, status.st_nlink) == (4096, 0)
    finally:
        os.close(descriptor)
