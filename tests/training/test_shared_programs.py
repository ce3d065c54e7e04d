"""Compiled programs are shared between commands of one user, and with nobody else."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from recall.training import shared_programs
from recall.training.callbacks.status import Status
from recall.training.compilation_cache import kept_programs
from recall.training.own_programs import PROGRAMS, remove_foreign_programs, sign_programs
from tests.factories.fleets import small_spec

SCRIPT = """
import sys
import recall
from recall.training.callbacks import Callback

class Heard(Callback):
    def __init__(self):
        self.activities, self.seconds = [], 0.0

    def on_activity(self, what):
        self.activities.append(what)

    def on_compiled(self, seconds):
        self.seconds += seconds

heard = Heard()
recall.train(
    "fine_tuning", "point-rich", seeds=[0], out=sys.argv[1], hidden=(8, 8), head_layers=1,
    batch_size=8, steps_per_task=100, update_after=50, random_steps=50, evaluation_episodes=1,
    workers=1, updates_per_burst=2, callback=heard,
)
assert "compiling" in heard.activities, heard.activities
print(heard.seconds)
"""


def train(tmp_path, name, **variables):
    """Train a tiny fleet in a new process; return the seconds of compiling."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / name)],
        env=inherited | {"XDG_CACHE_HOME": str(tmp_path / "cache")} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return float(process.stdout)


def programs_in(folder):
    return {path.name for path in folder.rglob("*-cache")}


@pytest.mark.slow
def test_a_second_command_finds_what_the_first_compiled(tmp_path):
    first = train(tmp_path, "first")
    cache = tmp_path / "cache" / "recall"
    assert cache.stat().st_mode & 0o777 == 0o700
    (processor,) = cache.iterdir()
    assert processor.name.startswith("cpu-")
    stored = programs_in(processor)
    assert any("burst" in name for name in stored)
    second = train(tmp_path, "second")
    assert programs_in(processor) == stored
    assert second < first
    for name in ("evaluations.jsonl", "training.jsonl"):
        one, two = ((tmp_path / run / name).read_bytes() for run in ("first", "second"))
        assert one == two


def test_sharing_can_be_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert shared_programs.cache_folder() == tmp_path / "recall"
    monkeypatch.setenv(shared_programs.VARIABLE, str(tmp_path / "mine"))
    assert shared_programs.cache_folder() == tmp_path / "mine"
    monkeypatch.setenv(shared_programs.VARIABLE, "off")
    assert shared_programs.cache_folder() is None


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "recall"
    folder.mkdir()
    folder.chmod(0o777)
    assert shared_programs.cache_folder() is None
    folder.rmdir()
    folder.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    assert shared_programs.cache_folder() is None


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    """A fleet's folder with two programs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    programs = tmp_path / "fleet" / PROGRAMS
    programs.mkdir(parents=True)
    (programs / "one-cache").write_bytes(b"1" * 100)
    (programs / "two-cache").write_bytes(b"2" * 100)
    return tmp_path / "fleet"


@pytest.fixture
def unset_cache(monkeypatch, tmp_path):
    """No cache chosen by JAX's own means, and folders of the user that are new."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    chosen = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", chosen)


def test_a_process_that_still_runs_or_was_killed_has_shared_its_programs(tmp_path, unset_cache):
    """What is signed after a chunk outlives the start of another process."""
    folder, told = tmp_path / "fleet", []
    folder.mkdir()
    with kept_programs(folder, small_spec(), told.append):
        jax.jit(lambda x: x * 3 + 1)(jnp.ones(7)).block_until_ready()
        sign_programs(folder)
        (shared,) = (tmp_path / "cache" / "recall").iterdir()
        stored = programs_in(shared)
        assert stored
        (shared / PROGRAMS / "unsigned-cache").write_bytes(b"never loaded")
        shared_programs.prepare(shared)
        assert programs_in(shared) == stored
    (shared / PROGRAMS / "later-cache").write_bytes(b"of somebody else")
    sign_programs(folder)  # the shared folder is not in use any more
    shared_programs.prepare(shared)
    assert programs_in(shared) == stored


def test_an_accelerators_programs_go_from_fleet_to_fleet(tmp_path, fleet):
    shared, other = tmp_path / "cache" / "shapes", tmp_path / "other"
    shared_programs.give_back(fleet, shared)
    shared_programs.lend(shared, other)
    assert programs_in(other) == {"one-cache", "two-cache"}
    assert (other / PROGRAMS / "one-cache").read_bytes() == b"1" * 100
    assert remove_foreign_programs(other) == 0, "lent programs are signed"
    # A fleet that has programs keeps them: on an accelerator, others may round differently.
    (other / PROGRAMS / "two-cache").unlink()
    shared_programs.lend(shared, other)
    assert programs_in(other) == {"one-cache"}


def test_a_damaged_program_is_not_lent(tmp_path, fleet):
    shared, other = tmp_path / "cache" / "shapes", tmp_path / "other"
    shared_programs.give_back(fleet, shared)
    (shared / PROGRAMS / "one-cache").write_bytes(b"1" * 50)
    shared_programs.lend(shared, other)
    assert programs_in(other) == {"two-cache"}


def test_programs_that_were_used_least_recently_make_room(tmp_path, fleet, monkeypatch):
    monkeypatch.setattr(shared_programs, "_MOST_BYTES", 150)
    os.utime(fleet / PROGRAMS / "one-cache", (1.0, 1.0))
    shared = tmp_path / "cache" / "shapes"
    shared_programs.give_back(fleet, shared)
    (kept,) = programs_in(shared)
    assert [path.name for path in shared.rglob("*.signature")] == [f"{kept}.signature"]


def test_the_time_left_includes_compiling_in_later_tasks():
    status = Status(small_spec(), 0)
    status.step(100)
    for second in range(1, 3):
        status._rate._seen.append((status._rate._seen[0][0] + second, 100 + 50 * second))
    status.total_steps = 200
    assert status.time_left(400) == "0:00:08 left"
    status.compiled(30.0)
    assert status.time_left(100) == "0:00:02 left", "the stage itself has compiled"
    assert status.time_left(400) == "0:00:38 left"
