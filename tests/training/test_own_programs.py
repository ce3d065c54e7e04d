"""Compiled programs of others are removed before anything could load them."""

import pytest

from recall.training import own_programs
from recall.training.own_programs import remove_foreign_programs, sign_programs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A fleet's folder with two programs that this user's process stored and signed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "run" / "programs").mkdir(parents=True)
    for name in ("jit_burst-1-cache", "jit_init-2-cache"):
        (tmp_path / "run" / "programs" / name).write_bytes(name.encode() * 100)
    sign_programs(tmp_path / "run")
    return tmp_path / "run"


def programs_in(folder):
    return sorted(path.name for path in (folder / "programs").glob("*-cache"))


def test_own_programs_stay_and_the_key_is_private(folder, tmp_path):
    assert remove_foreign_programs(folder) == 0
    assert programs_in(folder) == ["jit_burst-1-cache", "jit_init-2-cache"]
    key = tmp_path / "state" / "recall" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


def test_changed_added_and_exchanged_programs_are_removed(folder):
    programs = folder / "programs"
    one, other = programs / "jit_burst-1-cache", programs / "jit_init-2-cache"
    one.write_bytes(other.read_bytes())  # signed, but under another name
    (programs / "jit_new-3-cache").write_bytes(b"theirs")
    assert remove_foreign_programs(folder) == 2
    assert programs_in(folder) == ["jit_init-2-cache"]
    one.write_bytes(b"compiled again")
    sign_programs(folder)
    assert remove_foreign_programs(folder) == 0
    assert programs_in(folder) == ["jit_burst-1-cache", "jit_init-2-cache"]


def test_programs_of_another_user_and_linked_ones_are_removed(folder, tmp_path, monkeypatch):
    outside = tmp_path / "outside-cache"
    outside.write_bytes(b"stays")
    (folder / "programs" / "jit_link-4-cache").symlink_to(outside)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    assert remove_foreign_programs(folder) == 3
    assert programs_in(folder) == []
    assert outside.exists()


def test_without_a_place_for_a_key_no_program_is_trusted(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "run" / "programs" / "jit_burst-1-cache"))
    assert remove_foreign_programs(folder) == 2


def test_a_signature_that_is_no_file_or_no_text_is_none(folder):
    programs = folder / "programs"
    (programs / "jit_burst-1-cache.signature").write_bytes("né".encode("latin-1"))
    (programs / "jit_init-2-cache.signature").unlink()
    (programs / "jit_init-2-cache.signature").mkdir()
    assert remove_foreign_programs(folder) == 2
    assert programs_in(folder) == []


def test_processes_that_sign_at_once_keep_each_others_signatures(folder, monkeypatch):
    programs, sign = folder / "programs", own_programs._signature
    (programs / "jit_ours-3-cache").write_bytes(b"ours")

    def meanwhile(key, path):
        """Let another process store and sign a program while this one signs its own."""
        monkeypatch.setattr(own_programs, "_signature", sign)
        (programs / "jit_theirs-4-cache").write_bytes(b"theirs")
        sign_programs(folder)
        return sign(key, path)

    monkeypatch.setattr(own_programs, "_signature", meanwhile)
    sign_programs(folder)
    assert remove_foreign_programs(folder) == 0
    assert len(programs_in(folder)) == 4


@pytest.mark.parametrize("act", [sign_programs, remove_foreign_programs])
def test_another_process_may_remove_programs_meanwhile(folder, monkeypatch, act):
    (folder / "programs" / "jit_new-3-cache").write_bytes(b"not signed")
    listed = own_programs._files

    def gone(programs):
        found = listed(programs)
        for path in found:
            path.unlink()
        return found

    monkeypatch.setattr(own_programs, "_files", gone)
    act(folder)
    assert programs_in(folder) == []


def test_a_folder_without_programs_has_nothing_to_sign(tmp_path):
    sign_programs(tmp_path)
    assert list(tmp_path.iterdir()) == []
