"""Append-only files, atomic writes and stamps, on real files."""

import contextlib
import zlib

import msgspec
import pytest

from recall.errors import RecallError
from recall.files.append_log import AppendLog
from recall.files.atomic import replacing, write_bytes, write_json
from recall.files.names import PlainName, file_name
from recall.files.paths import UnsafeFolderError, check_contained
from recall.files.reading import read_json
from recall.files.stamps import DamagedFileError, Stamp, check


def test_a_stamp_is_the_length_and_the_crc_of_all_that_was_appended(tmp_path):
    log = AppendLog(tmp_path / "log")
    log.append(b"one ")
    log.append(b"two")
    assert log.sync() == Stamp(7, zlib.crc32(b"one two"))
    log.close()
    # Another process finds the same stamp and goes on from it.
    again = AppendLog(tmp_path / "log")
    again.append(b" three")
    assert again.stamp() == Stamp(13, zlib.crc32(b"one two three"))
    again.cut(Stamp(7, zlib.crc32(b"one two")))
    again.append(b"!")
    assert again.stamp() == Stamp(8, zlib.crc32(b"one two!"))
    again.close()
    assert (tmp_path / "log").read_bytes() == b"one two!"


def test_only_damage_to_what_a_stamp_covers_counts(tmp_path):
    path, stamp = tmp_path / "file", Stamp(3, zlib.crc32(b"abc"))
    path.write_bytes(b"abc and more")
    check(path, stamp)
    path.write_bytes(b"abd and more")
    with pytest.raises(DamagedFileError, match=r"file is damaged: its checksum"):
        check(path, stamp)
    path.write_bytes(b"ab")
    with pytest.raises(DamagedFileError, match="has 2 bytes and not 3"):
        check(path, stamp)
    path.unlink()
    with pytest.raises(DamagedFileError, match="is lost"):
        check(path, stamp)
    check(path, Stamp())
    path.mkdir()
    with pytest.raises(DamagedFileError, match="Is a directory"):
        check(path, stamp)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.bin"
    assert write_bytes(path, b"old") == Stamp(3, zlib.crc32(b"old"))
    with contextlib.suppress(ZeroDivisionError), replacing(path) as file:
        file.write(b"new")
        _ = 1 / 0
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file.bin"]


def test_json_has_no_infinity(tmp_path):
    write_json(tmp_path / "file.json", {"a": [float("inf"), 1.5]})
    assert read_json(tmp_path / "file.json") == {"a": [None, 1.5]}


def test_no_write_follows_a_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("log", "run.tmp", "run.json"):
        (folder / name).symlink_to(victim)
    with pytest.raises(RecallError, match="log cannot be written"):
        AppendLog(folder / "log").append(b"theirs")
    write_json(folder / "run.json", {})
    assert victim.read_text() == "mine"
    assert not (folder / "run.json").is_symlink()


def test_links_out_of_a_folder_are_refused(tmp_path):
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "stays").symlink_to("inner")  # as W&B makes
    check_contained(folder)
    (tmp_path / "link").symlink_to(folder)
    check_contained(tmp_path / "link")
    (folder / "inner" / "leaves").symlink_to(tmp_path)
    with pytest.raises(UnsafeFolderError, match="leaves is a link"):
        check_contained(folder)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../up", "/etc/passwd", "a/b", ".hidden", "a\0b", "a\n", "x" * 300, 7]
)
def test_names_that_are_more_than_a_name_are_refused(name):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(name, PlainName)


@pytest.mark.parametrize("text", ["recall-cw3-1-seed0", "a/b:c", "../../x", "y" * 200, "ä,b=c"])
def test_every_name_that_is_made_is_safe_but_for_a_leading_dot(text):
    name = file_name(f"run-{text}")
    assert msgspec.convert(name, PlainName) == name
