"""Compiled programs are kept in the user's own cache folder, and shared with nobody else."""

import os

import jax
import jax.numpy as jnp
import pytest

from recall.learn import fleet
from recall.training import programs
from recall.training.programs import (
    cache_root,
    keep_programs,
    kept_programs,
    own_programs,
)
from tests.factories.folders import write_fleet
from tests.factories.learners import make_agent


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The new cache folder of a user who has not chosen one by JAX's own means."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    chosen = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield tmp_path / "cache" / "recall"
    jax.config.update("jax_compilation_cache_dir", chosen)


@pytest.fixture
def accelerator(root, monkeypatch):
    """Has this process's processor taken for an accelerator."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "clear_caches", lambda: None)  # other tests need theirs


def names(folder):
    return {path.name for path in folder.glob("*-cache")}


def compile_one(number):
    jax.jit(lambda x: x * number + 1)(jnp.ones(7)).block_until_ready()


@pytest.mark.slow  # later tests compile everything again
def test_programs_are_freed_when_a_training_ends(tmp_path, root, free_programs, monkeypatch):
    monkeypatch.setattr(programs, "_free", free_programs)
    free_programs()  # those of other tests
    with kept_programs(tmp_path / "fleet", print):
        fleet.init(make_agent(), jnp.array([0]))
        assert fleet.init._cache_size() == 1
    assert fleet.init._cache_size() == 0


def test_fleets_on_a_processor_share_one_private_folder(tmp_path, root):
    with kept_programs(tmp_path / "fleet", print):
        compile_one(3)
    assert root.stat().st_mode & 0o777 == 0o700
    (processor,) = root.iterdir()
    assert processor.name.startswith("cpu-")
    assert names(processor)
    assert jax.config.jax_compilation_cache_dir is None


def test_a_folder_that_others_can_write_to_is_not_used(root):
    root.mkdir(parents=True)
    root.chmod(0o777)
    assert cache_root() is None
    root.rmdir()
    (root.parent / "elsewhere").mkdir()
    root.symlink_to(root.parent / "elsewhere")
    assert cache_root() is None


def test_a_cache_chosen_by_jaxs_own_means_is_used(tmp_path, root):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "mine"))
    with kept_programs(tmp_path / "fleet", print):
        assert jax.config.jax_compilation_cache_dir == str(tmp_path / "mine")
    assert not root.exists()


def test_a_fleet_on_an_accelerator_keeps_what_its_checkpoints_depend_on(
    tmp_path, root, accelerator
):
    fleet, told = tmp_path / "fleet", []
    own = own_programs(root, fleet)
    with kept_programs(fleet, told.append):
        compile_one(5)
        kept = names(own)
        keep_programs(fleet)  # a checkpoint is written
        (own / "killed-cache").write_bytes(b"half a pro")
    assert kept
    with kept_programs(fleet, told.append):
        assert names(own) == kept
    assert not told
    with kept_programs(tmp_path / "another", told.append):
        assert names(own_programs(root, tmp_path / "another")) == kept, "begins with shared ones"
    write_fleet(fleet)
    (fleet / "checkpoints").mkdir()
    (fleet / "checkpoints" / "1.npz").touch()
    with kept_programs(fleet, told.append):
        pass
    assert not own.exists(), "a finished fleet needs none"
    with kept_programs(fleet, told.append):
        pass
    assert "last bits" in told.pop()


def test_programs_that_were_used_least_recently_make_room(tmp_path, root, monkeypatch):
    monkeypatch.setattr(programs, "_MOST_BYTES", 150)
    (root / "shared").mkdir(parents=True)
    for name, used in (("old", 1.0), ("new", 2.0)):
        (root / "shared" / f"{name}-cache").write_bytes(b"1" * 100)
        os.utime(root / "shared" / f"{name}-cache", (used, used))
    with kept_programs(tmp_path / "fleet", print):
        pass
    assert names(root / "shared") == {"new-cache"}
