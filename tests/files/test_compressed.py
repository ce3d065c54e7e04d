"""Compressed records that are damaged or made to do harm give a sentence, quickly."""

import lzma

import pytest
from recall.files.compressed import open_xz, write_xz

import recall
from recall.analysis.collection import gather
from recall.errors import BadValueError, RecallError
from recall.files import compressed
from recall.runs.store import read
from tests.factories.folders import write_fleet

LINES = [b'{"run": %d}\n' % number for number in range(20_000)]


def test_lines_come_back(tmp_path):
    write_xz(tmp_path / "a.xz", LINES)
    with open_xz(tmp_path / "a.xz") as file:
        assert list(file) == LINES
    write_xz(tmp_path / "b.xz", [b"".join(LINES)])
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()
    write_xz(tmp_path / "empty.xz", [])
    with open_xz(tmp_path / "empty.xz") as file:
        assert file.read() == b""


def bomb() -> bytes:
    encoder = lzma.LZMACompressor(preset=0)
    block = b" " * (1 << 20)
    return b"".join([*(encoder.compress(block) for _ in range(80)), encoder.flush()])


def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "LEAST_LIMIT_BYTES", 1000)
    with pytest.raises(BadValueError, match="would expand from"):
        write_xz(tmp_path / "a.xz", [b"0\n"] * 100_000)
    assert not list(tmp_path.iterdir())


DAMAGED = {
    "cut short": lambda data: data[: len(data) // 2],
    "is no xz file or is damaged": lambda data: data[:40] + b"\0\1\2\3" + data[44:],
    "other data follow": lambda data: data + b"more",
    "expands to more than": lambda data: bomb(),
    "is no xz file": lambda data: b"garbage that is long enough",
    "damaged: Memory usage limit exceeded": lambda data: lzma.compress(data, preset=9),
}


@pytest.mark.parametrize("words", DAMAGED)
@pytest.mark.parametrize("name", ["evaluations", "training"])
def test_damaged_records_are_named(tmp_path, monkeypatch, name, words):
    monkeypatch.setattr(compressed, "_MEMORY_BYTES", 1 << 25)
    folder = recall.archive(write_fleet(tmp_path / "run"), tmp_path / "kept").folder
    path = folder / f"{name}.jsonl.xz"
    path.write_bytes(DAMAGED[words](path.read_bytes()))
    with pytest.raises(RecallError, match=rf"{name}.jsonl.xz cannot be read \(.*{words}") as caught:
        read(folder)
    assert "\n" not in str(caught.value)
    found = gather(folder)
    assert any(words in problem and path.name in problem for problem in found.problems)
    assert bool(found.runs) == (name == "training")
    assert [run.training for run in found.runs] == [{}] * len(found.runs)
    with pytest.raises(RecallError, match=words):
        recall.archive(folder, tmp_path / "again")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1}'])
def test_a_damaged_note_is_named(tmp_path, content):
    folder = recall.archive(write_fleet(tmp_path / "run"), tmp_path / "kept").folder
    (folder / "archive.json").write_text(content)
    with pytest.raises(RecallError, match=r"archive.json"):
        read(folder)
    found = gather(folder)
    assert found.runs == ()
    assert "archive.json" in found.problems[0]
