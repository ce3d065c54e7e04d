"""A folder under a URL: whatever is cut off in between, what was last pushed is whole."""

import random
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from recall.errors import BadValueError
from recall.files.stamps import DamagedFileError
from recall.studies.launch.remote_folder import OvertakenError, RemoteFolder, filesystem


class FullError(Exception):
    pass


class Filling(LocalFileSystem):
    """A file system that takes so many files and then no more."""

    protocol = "filling"
    left = 10**9

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("filling://", ""))

    def _open(self, path, mode="rb", **keywords):
        if "w" in mode:
            if Filling.left == 0:
                raise FullError
            Filling.left -= 1
        return super()._open(path, mode, **keywords)


fsspec.register_implementation("filling", Filling, clobber=True)


@pytest.fixture(autouse=True)
def _empty_disk():
    Filling.left = 10**9
    yield
    Filling.left = 10**9


def content(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def move_on(folder: Path, draw: random.Random) -> None:
    """What a fleet does between two checkpoints."""
    for name in ("evaluations.jsonl", "replay/task-0.rows"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(draw.randbytes(draw.randrange(1, 2000)))
    (folder / "run.json").write_text("the same")
    checkpoints = sorted((folder / "checkpoints").glob("*"), key=lambda path: int(path.name))
    number = int(checkpoints[-1].name) + 1 if checkpoints else 1
    for old in checkpoints[:-1]:
        (old / "arrays").unlink()
        old.rmdir()
    (folder / "checkpoints" / str(number)).mkdir(parents=True)
    (folder / "checkpoints" / str(number) / "arrays").write_bytes(draw.randbytes(500))


def pulled(url: str, folder: Path) -> dict[str, bytes]:
    RemoteFolder(url).pull(folder)
    return content(folder)


def test_what_is_pulled_is_what_was_last_pushed_whatever_stops_a_push(tmp_path):
    draw, work = random.Random(3), tmp_path / "work"
    url = f"filling://{tmp_path}/store"
    remote_folder = RemoteFolder(url, attempt=1)
    remote_folder.claim()
    assert pulled(url, tmp_path / "none") == {}
    last = {}
    for number in range(12):
        move_on(work, draw)
        Filling.left = draw.choice([0, 1, 2, 3, 10**9])
        try:
            remote_folder.push(work)
            last = content(work)
        except FullError:
            pass
        Filling.left = 10**9
        assert pulled(url, tmp_path / f"seen-{number}") == last
    assert last


def test_files_that_grow_are_stored_by_what_was_added(tmp_path):
    draw, work = random.Random(4), tmp_path / "work"
    remote_folder = RemoteFolder(str(tmp_path / "store"))
    remote_folder.claim()
    for _ in range(3):
        move_on(work, draw)
        remote_folder.push(work)
    parts = list((tmp_path / "store" / "parts").glob("task-0.rows-*"))
    assert len(parts) == 3
    assert (
        sum(path.stat().st_size for path in parts) == (work / "replay/task-0.rows").stat().st_size
    )
    # Nothing is left of checkpoints that are gone.
    assert len(list((tmp_path / "store" / "parts").glob("arrays-*"))) == 2


def test_going_on_elsewhere_from_a_checkpoint_that_cuts_files(tmp_path):
    draw, first, second = random.Random(5), tmp_path / "first", tmp_path / "second"
    url = str(tmp_path / "store")
    one = RemoteFolder(url, attempt=1)
    one.claim()
    move_on(first, draw)
    one.push(first)
    two = RemoteFolder(url, attempt=2)
    two.claim()
    two.pull(second)
    # The other node goes back further than the last push, and on from there in its own way.
    rows = second / "replay" / "task-0.rows"
    rows.write_bytes(rows.read_bytes()[:10])
    two.rebase(second)
    rows.write_bytes(rows.read_bytes() + draw.randbytes(5000))
    two.push(second)
    assert pulled(url, tmp_path / "third") == content(second)
    # The node that was given up for lost comes back: what it has counts no more.
    move_on(first, draw)
    with pytest.raises(OvertakenError, match="attempt 2 has taken over from 1"):
        one.push(first)
    assert pulled(url, tmp_path / "fourth") == content(second)


def test_an_unknown_kind_of_storage_is_told():
    with pytest.raises(BadValueError, match=r"storage nosuch://bucket/study cannot be used"):
        filesystem("nosuch://bucket/study")


def test_an_attempt_that_is_overtaken_while_it_stores_leaves_the_manifest_alone(
    tmp_path, monkeypatch
):
    work, url = tmp_path / "work", str(tmp_path / "store")
    move_on(work, random.Random(6))
    one, two = RemoteFolder(url, attempt=1), RemoteFolder(url, attempt=2)
    one.claim()
    store = one._store

    def claimed_meanwhile(name, path):
        two.claim()
        return store(name, path)

    monkeypatch.setattr(one, "_store", claimed_meanwhile)
    with pytest.raises(OvertakenError):
        one.push(work)
    assert two.last_attempt == 2


def test_a_file_whose_parts_are_cut_short_is_not_left_behind_when_pulled(tmp_path):
    work, url = tmp_path / "work", str(tmp_path / "store")
    move_on(work, random.Random(7))
    remote_folder = RemoteFolder(url)
    remote_folder.claim()
    remote_folder.push(work)
    (part,) = (tmp_path / "store" / "parts").glob("run.json-*")
    part.write_bytes(part.read_bytes()[:3])
    with pytest.raises(DamagedFileError, match="has 3 of 8 bytes"):
        remote_folder.pull(tmp_path / "elsewhere")
    assert not list((tmp_path / "elsewhere").glob("run.*"))
