"""A served report, in a process of its own."""

import re
import subprocess
import sys
import urllib.request

from tests.factories.folders import write_fleet


def test_a_served_page_holds_the_report_and_loads_itself_again(tmp_path):
    write_fleet(tmp_path / "runs", "recall", "push,hammer")
    words = [sys.executable, "-m", "recall", "report", "runs", "--serve", "--no-figures"]
    serve = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+/", serve.stdout.readline())[0]
        while not (tmp_path / "report" / "index.html").exists():
            assert serve.poll() is None
        with urllib.request.urlopen(url, timeout=30) as answer:
            page = answer.read().decode()
        assert "Results on push, hammer" in page
        assert 'http-equiv="refresh"' in page
    finally:
        serve.kill()
        serve.wait()
        serve.stdout.close()
