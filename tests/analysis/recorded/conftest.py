import numpy as np
import pytest

from recall.analysis import metrics
from recall.analysis.collection import gather
from recall.analysis.scores import ScoreBoard
from tests.analysis.recorded.pages import METHODS, ROOT, SEQUENCES, successes


@pytest.fixture(scope="session")
def boards() -> dict[str, ScoreBoard]:
    return {
        name: ScoreBoard(gather(ROOT / "results" / name))
        for name in (
            "cw3",
            "cw3-1m",
            "cw10",
            "cw10-three",
            "ablation",
            "ablation-three",
            "cw3-white",
            "learning-250k",
            "pairs",
        )
    }


@pytest.fixture(scope="session")
def page() -> str:
    return (ROOT / "docs" / "results.md").read_text()


@pytest.fixture(scope="session")
def just_learnt(boards) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Tasks and their successes when their training ended, both [run, position], by method."""
    return {
        method: successes(boards["cw3"], method, metrics.trained_successes) for method in METHODS
    }


@pytest.fixture(scope="session")
def at_the_end(boards) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {method: successes(boards["cw3"], method, metrics.final_successes) for method in METHODS}


@pytest.fixture(scope="session")
def transfers(boards) -> dict[str, np.ndarray]:
    """Forward transfer [sequence, position] by method."""
    return {
        method: np.array(
            [
                [each.value for each in boards["cw3"].get(label, name).forward_transfer_by_task]
                for name in (f"cw3-{number}" for number in SEQUENCES)
            ]
        )
        for method, label in METHODS.items()
    }
