"""Files that are damaged or hostile give a sentence, quickly and in little memory."""

import io
import json
import lzma
import os
import pty
import resource
import zipfile

import numpy as np
import pytest
from rich.console import Console

import recall
from recall.analysis.collection import gather
from recall.errors import BadValueError, RecallError
from recall.files import reading
from recall.files.fleet_layout import Outcome
from recall.files.reading import open_file, open_npz, read_bytes, read_json, read_lines
from recall.files.streams import is_terminal
from recall.policies.file_format import read_policy_file
from recall.runs.store import read
from tests.factories.folders import write_fleet


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b'{"a": }', b"NaN", b"1e999",
     b'"\\ud800"', b"9223372036854775808", b'{"a": [-9223372036854775809]}'],
)  # fmt: skip
def test_what_is_no_json_that_we_write_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(BadValueError, match=r"file\.json .*\(.*\): do this") as caught:
        read_json(path, "do this")
    assert "\n" not in str(caught.value)


def test_json_of_another_kind_names_the_place(tmp_path):
    path = tmp_path / "outcome.json"
    path.write_text('{"failed": {"a": 9223372036854775808}}')
    with pytest.raises(BadValueError, match=r"outcome\.json was damaged .*\$\.failed"):
        read_json(path, kind=Outcome)


def make(path, what):
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "link to a device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)  # holds no blocks


@pytest.mark.parametrize("what", ["pipe", "folder", "link to a device", "endless"])
def test_only_regular_files_of_a_sensible_size_are_read(tmp_path, what):
    path = tmp_path / "file"
    make(path, what)
    with pytest.raises(OSError, match="file"):
        read_bytes(path)
    with pytest.raises(OSError, match="file"):
        list(read_lines(path))
    with pytest.raises(BadValueError, match="file cannot be read"):
        read_json(path)
    if what != "endless":
        with pytest.raises(OSError, match="file"):
            open_file(path)


@pytest.mark.parametrize("what", ["pipe", "link to a device", "endless"])
def test_no_command_waits_for_such_a_run_json(tmp_path, what):
    make(tmp_path / "run.json", what)
    assert gather(tmp_path).problems
    for command in (recall.load_policy, recall.resume, recall.evaluate, recall.film):
        with pytest.raises(RecallError, match=r"run\.json cannot be read"):
            command(tmp_path)


def bombs(path):
    """Yield the names of hostile .npz files, once `path` holds them."""
    np.savez_compressed(path, a=np.zeros(1 << 25))  # 256 MB from 260 kB
    yield "expands too far"
    header, facts = io.BytesIO(), {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(header, facts)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", header.getvalue())
    yield "claims more than it has"
    np.savez(path, a=np.array([{}], object))
    yield "needs pickle"
    path.write_bytes(path.read_bytes()[:100])
    yield "cut short"


def test_arrays_are_bounded_before_they_are_read(tmp_path):
    path = tmp_path / "policy.npz"
    np.savez_compressed(path, a=np.arange(6.0).reshape(2, 3), b=np.zeros(0))
    with open_npz(path) as stored:
        assert stored["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert stored.files == ["a", "b"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for why in bombs(path):
        damaged = pytest.raises((ValueError, OSError, MemoryError, zipfile.BadZipFile))
        with damaged, open_npz(path) as stored:
            pytest.fail(f"{why}: {stored['a'].shape}")
        with pytest.raises(BadValueError, match=r"policy\.npz"):
            read_policy_file(path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < (1 << 19), "kB; writing the bomb itself takes 256 MB"


def bomb() -> bytes:
    encoder = lzma.LZMACompressor(preset=0)
    block = (b"{}" + b" " * 1021 + b"\n") * 1024
    return b"".join([encoder.compress(block), encoder.flush()])


DAMAGED = {
    "cut short": lambda data: data[: len(data) // 2],
    "is no xz file or is damaged": lambda data: data[:40] + b"\0\1\2\3" + data[44:],
    "other data follow": lambda data: data + b"more",
    "expands to far more": lambda data: bomb(),
    "is no xz file": lambda data: b"garbage that is long enough",
    "damaged: Memory usage limit exceeded": lambda data: lzma.compress(data, preset=9),
}


@pytest.mark.parametrize(
    ("name", "words"),
    [*(("evaluations", words) for words in DAMAGED), ("training", "cut short")],
)
def test_damaged_records_of_archives_are_named(tmp_path, monkeypatch, name, words):
    monkeypatch.setattr(reading, "MOST_XZ_MEMORY_BYTES", 1 << 25)
    monkeypatch.setattr(reading, "MOST_EXPANDED_BYTES", 1 << 19)
    folder = recall.archive(write_fleet(tmp_path / "run"), tmp_path / "kept").folder
    path = folder / f"{name}.jsonl.xz"
    path.write_bytes(DAMAGED[words](path.read_bytes()))
    with pytest.raises(RecallError, match=rf"{name}.jsonl.xz is damaged"):
        read(folder)
    outcome = json.loads((folder / "outcome.json").read_text())
    (folder / "outcome.json").write_text(json.dumps(outcome | {"stamps": {}}))
    with pytest.raises(RecallError, match=rf"{name}.jsonl.xz cannot be read \(.*{words}"):
        read(folder)
    found = gather(folder)
    assert any(words in problem and path.name in problem for problem in found.problems)
    assert bool(found.runs) == (name == "training")
    assert [run.training for run in found.runs] == [{}] * len(found.runs)
    with pytest.raises(RecallError, match=words):
        recall.archive(folder, tmp_path / "again")


def test_forced_colour_makes_no_terminal_of_a_stream(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not is_terminal(Console(file=io.StringIO()))
    _, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as file:
        assert is_terminal(Console(file=file))
