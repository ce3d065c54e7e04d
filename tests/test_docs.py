"""What the pages say is run: their Python, their commands, their links."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recall.cli import without_plugins
from recall.commands.train import parse_train, spec_of
from tests.plugins.restored import plugins_forgotten

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "results" / "README.md",
]
# Commands that are quick enough to run; of the others, the help is asked for instead.
QUICK = ("recall list", "recall --")


def blocks(kind: str) -> list:
    found = []
    for page in PAGES:
        for text in re.findall(rf"^ *```{kind}\n(.*?)^ *```", page.read_text(), re.M | re.S):
            found.append(pytest.param(text, id=f"{page.name}-{len(found)}"))
    return found


def commands() -> list[str]:
    texts = "".join(param.values[0] for param in blocks("console"))
    return sorted({line[2:] for line in texts.splitlines() if line.startswith("$ ")})


def run(command: list[str], folder: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pages_have_something_to_run():
    assert len(PAGES) >= 5
    assert len(blocks("python")) >= 3
    assert "make demo" in commands()


@pytest.mark.slow
@pytest.mark.parametrize("text", blocks("python"))
def test_the_python_in_the_pages_runs(text, tmp_path):
    (tmp_path / "results").symlink_to(ROOT / "results")
    run([sys.executable, "-c", text], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_the_commands_in_the_pages_run(command):
    program, *arguments = shlex.split(command)
    if program == "make":
        run(["make", "--dry-run", *arguments])
        return
    if program == "pip":  # it would install another version
        return
    assert program == "recall", f"no way is known to test {command!r}"
    if command.startswith("recall train"):
        with plugins_forgotten():  # asking for help would check less
            spec_of(*parse_train(without_plugins(arguments[1:])))
        return
    quick = command.startswith(QUICK)
    run([sys.executable, "-m", "recall", *arguments, *([] if quick else ["--help"])])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_between_the_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_path_in_contributing_exists():
    named = re.findall(r"`((?:recall|tests|docs)/[\w./]*)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_test_that_a_promise_names_exists():
    page = (ROOT / "docs" / "reliability.md").read_text()
    named = re.findall(r"`([\w/]*test_\w+\.py)`", page)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / "tests" / path).exists()] == []


def test_the_page_for_pypi_links_to_no_file():
    links = re.findall(r"\]\(([^)]*)\)", (ROOT / "PYPI.md").read_text())
    assert links
    assert all(link.startswith("https://") for link in links)
