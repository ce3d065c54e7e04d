import pytest

from recall.results.collection import gather
from recall.results.scores import ScoreBoard
from tests.results.recorded.pages import ROOT


@pytest.fixture(scope="session")
def boards() -> dict[str, ScoreBoard]:
    return {
        name: ScoreBoard(gather(ROOT / "results" / name))
        for name in ("cw3", "cw3-white", "learning-250k", "pairs")
    }


@pytest.fixture(scope="session")
def page() -> str:
    return (ROOT / "docs" / "results.md").read_text()
