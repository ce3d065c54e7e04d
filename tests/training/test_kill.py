"""Whole processes, killed, stopped and starved, as it happens to people."""

import json
import os
import random
import re
import resource
import signal
import time

import pytest

from recall.runs.fleet_folder import hold
from tests.factories.fleets import (
    go_on,
    left_by,
    options,
    rows_in,
    run,
    small_spec,
    start,
    train_process,
)
from tests.factories.processes import children_of, is_alive, recall_process, wait_for


def a_checkpoint(folder):
    return list(folder.glob("checkpoints/*.npz"))


@pytest.mark.slow
def test_a_fleet_killed_again_and_again_leaves_what_one_never_killed_does(tmp_path, uninterrupted):
    draw = random.Random(7)
    folder = tmp_path / "run"
    process = train_process(folder)
    wait_for(lambda: a_checkpoint(folder), "a checkpoint")
    for _ in range(3):
        before = rows_in(folder)
        wait_for(lambda: rows_in(folder) != before or process.poll() is not None, "progress")  # noqa: B023
        time.sleep(draw.uniform(0.0, 0.5))
        workers = children_of(process.pid)
        process.kill()
        process.wait()
        if workers:
            wait_for(lambda: not any(map(is_alive, workers)), "its workers to end")  # noqa: B023
        if (folder / "outcome.json").exists():
            break
        process = recall_process("resume", str(folder), "--quiet")
    _, error = process.communicate(timeout=300)
    assert (folder / "outcome.json").exists(), error
    assert left_by(folder) == uninterrupted


def test_the_memory_shared_with_workers_has_no_name_that_could_stay_behind(tmp_path):
    trainer = start(small_spec(), tmp_path)
    try:
        shared = [
            line.split(maxsplit=5)[5]
            for line in open("/proc/self/maps")  # noqa: PTH123, SIM115
            if "memfd:recall" in line
        ]
        assert shared
        assert all(name.strip().endswith("(deleted)") for name in shared)
    finally:
        trainer.close()


@pytest.mark.slow
def test_a_real_task_resumes_exactly_after_a_kill(tmp_path):
    changes = {
        "steps_per_task": 100,
        "update_after": 50,
        "random_steps": 50,
        "evaluate_every": 100,
        "evaluation_episodes": 1,
        "record_every": 50,
        "checkpoint_minutes": 1e-9,
    }
    sequence = "window-close,hammer"
    arguments = ("train", "--sequence", sequence, "--seeds", "0", "1")
    folder = tmp_path / "killed"
    # Compiled apart from what goes on: equal bits must not rest on a shared cache of programs.
    process = recall_process(
        *arguments, "--out", str(folder), *options(**changes),
        env=os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"},
    )  # fmt: skip
    wait_for(lambda: a_checkpoint(folder), "a checkpoint")
    process.kill()
    process.communicate()
    run(go_on(folder)[0])
    run(start(small_spec(sequence=sequence, **changes), tmp_path / "whole"))
    assert left_by(folder) == left_by(tmp_path / "whole")


def has_run_json(folder):
    return (folder / "run.json").exists()


@pytest.mark.parametrize(
    ("numbers", "when", "status"),
    [
        pytest.param([signal.SIGINT], rows_in, 130, id="ctrl-c", marks=pytest.mark.slow),
        pytest.param([signal.SIGTERM], has_run_json, 143, id="at step 0"),
        pytest.param([signal.SIGTERM], rows_in, 143, id="sigterm", marks=pytest.mark.slow),
        # Within a second they count as one.
        pytest.param(
            [signal.SIGINT, signal.SIGINT, signal.SIGTERM], rows_in, 130,
            id="several", marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_a_signal_saves_and_leaves_and_says_how_to_go_on(
    tmp_path, uninterrupted, numbers, when, status
):
    folder = tmp_path / "run"
    process = train_process(folder, checkpoint_minutes=10)
    wait_for(lambda: when(folder), "the moment")
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.05)
    _, error = process.communicate(timeout=300)
    assert process.returncode == status, error
    (told,) = (line for line in error.splitlines() if line.startswith("recall: "))
    assert re.fullmatch(
        rf"recall: stopped at step \d+ of 600; everything is saved\. "
        rf"Continue with `recall resume {folder}`",
        told,
    )
    assert "Traceback" not in error
    assert bool(a_checkpoint(folder)) == ("at step 0 " not in told)
    described = json.loads((folder / "run.json").read_text())
    assert set(described["versions"]) >= {"python", "recall", "jax", "numpy", "mujoco"}
    assert described["machine"]["cores"] == os.cpu_count()
    assert described["command"][1] == "train"
    run(go_on(folder)[0])
    assert left_by(folder) == uninterrupted


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_at_once(tmp_path):
    folder = tmp_path / "run"
    process = train_process(folder, evaluation_episodes=100_000, evaluate_every=50)
    wait_for(lambda: rows_in(folder), "a chunk")
    os.kill(process.pid, signal.SIGINT)
    time.sleep(1.1)  # within a second, two signals count as one
    os.kill(process.pid, signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode in (130, 143)
    assert "everything is saved" not in error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "saved"),
    [(50, True), (20_000, True), (20_000, False)],
    ids=["transitions", "checkpoint", "first checkpoint"],
)
def test_no_space_left_is_told_and_costs_nothing_but_the_time(
    tmp_path, uninterrupted, limit, saved
):
    folder = tmp_path / "run"
    process = train_process(folder)
    wait_for(lambda: a_checkpoint(folder) if saved else (folder / "run.json").exists(), "a start")
    # From here on no file may grow beyond this.
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    _, error = process.communicate(timeout=300)
    assert process.returncode == 2, error
    (told,) = (line for line in error.splitlines() if line.startswith("recall: "))
    assert bool(a_checkpoint(folder)) == saved
    assert "File too large" in told
    where = "from the last checkpoint" if saved else "from the beginning"
    assert f"`recall resume {folder}` continues {where}" in told
    assert "Traceback" not in error
    trainer, complaints = go_on(folder)
    assert complaints == []
    run(trainer)
    assert left_by(folder) == uninterrupted


@pytest.mark.slow
def test_two_processes_do_not_train_in_one_folder(tmp_path):
    folder = tmp_path / "run"
    first = train_process(folder, evaluation_episodes=100_000, evaluate_every=50)
    wait_for(lambda: rows_in(folder), "a chunk")
    second = recall_process("resume", str(folder))
    _, error = second.communicate(timeout=300)
    assert second.returncode == 2
    assert f"is in use by process {first.pid} on " in error
    first.kill()
    first.communicate()
    # The lock of a process that is gone holds nobody up.
    assert json.loads((folder / "lock").read_text())["pid"] == first.pid
    with hold(folder):
        pass
