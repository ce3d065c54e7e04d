"""A served report, in a process of its own."""

import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from recall.commands.report import report
from tests.factories.folders import write_fleet


def test_a_served_page_holds_the_report_and_loads_itself_again(tmp_path):
    write_fleet(tmp_path / "runs", "recall", "push,hammer")
    words = [sys.executable, "-m", "recall", "report", "runs", "--serve", "--no-figures"]
    serve = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+/", serve.stdout.readline())[0]
        with urllib.request.urlopen(url, timeout=30) as answer:
            page = answer.read().decode()
        assert "Results on push, hammer" in page
        assert 'http-equiv="refresh"' in page
        other = urllib.request.Request(url, headers={"Host": "example.org"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(other, timeout=30)
    finally:
        serve.kill()
        serve.wait()
        serve.stdout.close()


def test_a_folder_without_runs_is_told_and_waited_for(tmp_path, monkeypatch, capsys):
    def no_more(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", no_more)
    with pytest.raises(KeyboardInterrupt):
        report((tmp_path,), tmp_path / "out", serve=True)
    assert "there are no runs" in capsys.readouterr().out
