import pytest

from recall.results.collection import gather
from recall.results.run_result import RunResult
from recall.results.scores import ScoreBoard
from tests.results.recorded.pages import ROOT


@pytest.fixture(scope="module")
def boards() -> dict[str, ScoreBoard]:
    return {
        name: ScoreBoard(gather(ROOT / "results" / name))
        for name in ("cw3", "cw3-white", "learning-250k")
    }


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "results.md").read_text()


@pytest.fixture(scope="module")
def exploration() -> dict[str, list[RunResult]]:
    folders = (ROOT / "results" / "exploration-150k").iterdir()
    return {folder.name: gather(folder).runs for folder in folders}
