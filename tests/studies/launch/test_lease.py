"""One launch at a time of what a URL keeps."""

import json
import os
import re
import socket
import time

import pytest

from recall.errors import RecallError
from recall.runs.fleet_folder import FolderHeldError
from recall.studies.launch.lease import HOLDER, Times, lease

QUICK = Times(between_beats=0.05, until_gone=1.0, to_settle=0.02)


@pytest.fixture
def url(tmp_path):
    return f"file://{tmp_path}/store"


def test_a_second_launch_is_told_who_holds_the_url_and_the_next_finds_it_free(url, tmp_path):
    here = re.escape(f"{url} is in use by process {os.getpid()} on {socket.gethostname()}")
    with lease(url, QUICK):
        with pytest.raises(FolderHeldError, match=here), lease(url, QUICK):
            pass
        assert (tmp_path / "store" / HOLDER).exists()  # the one refused took nothing away
    assert not (tmp_path / "store" / HOLDER).exists()
    with lease(url, QUICK):
        pass


def test_a_holder_that_is_gone_is_waited_for_and_then_replaced(url, tmp_path, capsys):
    path = tmp_path / "store" / HOLDER
    path.parent.mkdir()
    path.write_text(json.dumps({"id": "x", "pid": 7, "host": "elsewhere", "beat": 3}))
    with lease(url, Times(0.05, 0.2, 0.02)):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert "was in use by process 7 on elsewhere" in capsys.readouterr().err
    assert not path.exists()


def test_a_holder_that_was_replaced_leaves_the_other_alone(url, tmp_path):
    path = tmp_path / "store" / HOLDER
    other = json.dumps({"id": "x", "pid": 7, "host": "elsewhere", "beat": 1})
    with lease(url, Times(0.01, 0.2, 0.02)):
        for _ in range(20):  # it may be about to beat when the other writes, but not each time
            path.write_text(other)
            time.sleep(0.05)
            if path.read_text() == other:
                break
    assert path.read_text() == other


def test_storage_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(RecallError, match=r"storage .* cannot be used"), lease(f"{tmp_path}/file"):
        pass
