"""The page in a real browser while a real fleet trains: it refreshes by itself."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from recall.errors import BadValueError
from recall.report.serve import ADDRESS, LivePage, served
from tests.factories.folders import write_fleet


def read(url: str, host: str | None = None) -> str:
    request = urllib.request.Request(url, headers={} if host is None else {"Host": host})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def test_a_page_is_made_again_when_records_have_changed(tmp_path):
    made = []

    def make():
        made.append(len(made))
        (tmp_path / "index.html").write_text(f"page {len(made)} NUMBER_OF_THIS_REPORT")
        return tmp_path / "index.html"

    runs = tmp_path / "runs"
    write_fleet(runs / "a", finished=False, until=500)
    page = LivePage([runs], make)
    assert (page.refresh(), page.refresh()) == (True, False)
    with (runs / "a" / "evaluations.jsonl").open("a") as file:
        file.write("{}\n")
    assert page.refresh()
    assert (page.html, page.number, len(made)) == ("page 2 2", 2, 2)


def test_a_page_that_could_not_be_made_is_tried_again(tmp_path):
    page_file = tmp_path / "index.html"
    write_fleet(tmp_path / "runs" / "a", finished=False, until=500)
    page = LivePage([tmp_path / "runs"], lambda: page_file)
    assert not page.refresh()
    assert "nothing to report yet" in page.html
    page_file.write_text("page")
    assert page.refresh()
    assert page.html == "page"


def test_only_this_machine_is_served_and_nothing_but_the_page(tmp_path):
    with served(LivePage([tmp_path], lambda: tmp_path)) as url:
        assert re.fullmatch(rf"http://{re.escape(ADDRESS)}:\d+/", url)
        assert ADDRESS == "127.0.0.1"
        assert "is being made" in read(url)
        assert read(f"{url}number") == "0"
        for path, host, status in (("../etc/passwd", None, 404), ("", "elsewhere.org:80", 403)):
            with pytest.raises(urllib.error.HTTPError) as error:
                read(url + path, host)
            assert error.value.code == status
    with pytest.raises(urllib.error.URLError):
        read(url)


@pytest.mark.slow
def test_the_page_follows_a_fleet_that_is_training(browser, tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    words = [sys.executable, "-m", "recall"]
    serve = subprocess.Popen(
        [*words, "report", str(runs), "--serve", "--no-figures", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    train = None
    try:
        url = re.search(r"http://\S+", serve.stdout.readline())[0]
        context = browser.new_context()
        tab = context.new_page()
        told = []
        tab.on("pageerror", lambda error: told.append(str(error)))
        tab.goto(url)
        tab.wait_for_selector("#waiting")
        train = subprocess.Popen(
            [*words, "train", "--method", "fine_tuning", "--sequence", "point-rich,point-poor",
             "--preset", "quick", "--network.hidden", "8", "--steps-per-task", "400",
             "--evaluate-every", "200", "--evaluation-episodes", "1", "--workers", "1",
             "--quiet", "--out", str(runs / "a")],
            env=environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        tab.wait_for_selector("h1", timeout=120_000)
        assert "Provisional" in tab.content() or train.poll() == 0
        tab.wait_for_selector("text=1 run, all complete", timeout=120_000)
        assert train.wait(60) == 0
        assert "Results on point-rich, point-poor" in tab.text_content("#tables")
        serve.terminate()
        tab.wait_for_selector("body[data-live=stopped]", timeout=30_000)
        assert told == []
        context.close()
    finally:
        for process in (serve, train):
            if process is not None:
                process.kill()
                process.wait()
        serve.stdout.close()


def test_what_cannot_be_reported_is_shown_as_text(tmp_path):
    write_fleet(tmp_path / "runs" / "a", finished=False, until=500)

    def make():
        raise BadValueError("schema is <img src=x onerror=alert(1)>")

    page = LivePage([tmp_path / "runs"], make)
    page.refresh()
    assert "&lt;img src=x" in page.html
    assert "<img" not in page.html
