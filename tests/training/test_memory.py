"""A fleet that does not fit is refused before anything is written, with what would fit."""

import jax.numpy as jnp
import pytest

import recall
from recall.learn import fleet
from recall.training.agents import agent_of
from recall.training.callbacks import Callback
from recall.training.memory import (
    Memory,
    TooLargeError,
    available_host,
    check_memory,
    left_in,
    run_bytes,
)
from tests.factories.fleets import CHANGES, SEQUENCE, left_by, small_spec

GIB = 1 << 30


def test_on_a_cpu_the_processes_count_too():
    spec = small_spec()
    # A worker that collects, one that evaluates, and the policies that these play.
    workers = 2 * (64 << 20)
    # Those of two tasks, and those of two chunks that are ordered.
    policies = 4 * len(spec.runs) * (2 + 2) * fleet.policy_shape(agent_of(spec)[0]).size
    needed = len(spec.runs) * run_bytes(spec) + (512 << 20) + workers + policies
    check_memory(spec, Memory(needed))
    with pytest.raises(TooLargeError, match=r"2 runs .* are available, enough for 1"):
        check_memory(spec, Memory(needed - 1))


def test_beside_an_accelerator_the_processes_need_memory_of_the_host():
    spec = small_spec(workers=16)
    device = len(spec.runs) * run_bytes(spec)
    check_memory(spec, Memory(2 * GIB, device))
    with pytest.raises(TooLargeError, match=r"workers need about .* fewer workers"):
        check_memory(spec, Memory(GIB + (64 << 20), device))
    with pytest.raises(TooLargeError, match="of device memory"):
        check_memory(spec, Memory(2 * GIB, device - 1))


def test_cached_files_in_a_container_give_way(tmp_path):
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 300\nactive_file 200\ninactive_file 350\n")
    names = ("memory.max", "memory.current", "")
    assert left_in(tmp_path, *names) == 650
    (tmp_path / "memory.max").write_text("max\n")
    assert left_in(tmp_path, *names) > 2**60
    assert left_in(tmp_path / "nowhere", *names) > 2**60


def test_a_fleet_larger_than_this_machine_leaves_no_folder(tmp_path):
    long = {"steps_per_task": 100_000_000, "replay_capacity": 100_000_000}
    runs = 1 + available_host() // run_bytes(small_spec(**long))
    with pytest.raises(TooLargeError, match="of memory"):
        recall.train(
            sequence=SEQUENCE,
            seeds=tuple(range(runs)),
            out=tmp_path / "run",
            callback=Callback(),
            **CHANGES | long,
        )
    assert not (tmp_path / "run").exists()


class FillTheDevice(Callback):
    """Asks for more memory than any device has, as soon as training has begun."""

    def on_steps(self, steps):
        jnp.zeros(1 << 50, jnp.int8)


def test_a_device_that_is_full_is_told_and_does_not_block_the_next_start(tmp_path, uninterrupted):
    given = {"sequence": SEQUENCE, "out": tmp_path, **CHANGES, "checkpoint_minutes": 10}
    with pytest.raises(TooLargeError, match=r"no memory left .*RESOURCE_EXHAUSTED") as caught:
        recall.train(seeds=(7, 8), callback=FillTheDevice(), **given)
    assert str(caught.value).endswith(f"Then continue with `recall resume {tmp_path}`")
    assert "XLA_PYTHON_CLIENT_MEM_FRACTION" in str(caught.value)
    recall.train(seeds=(0, 1), callback=Callback(), **given)
    assert left_by(tmp_path) == uninterrupted
