"""The examples of CONTRIBUTING.md do what the page says."""

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from recall.errors import BadValueError
from recall.report.figures import Figure, Scene
from tests.factories.runs import made_collection

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()


def example(word: str) -> dict:
    """The names that the example with this word defines."""
    (text,) = [text for text in re.findall(r"```python\n(.*?)```", PAGE, re.S) if word in text]
    names: dict = {"__name__": "example"}
    exec(compile(text, "CONTRIBUTING.md", "exec"), names)
    return names


def test_the_example_of_a_method_adds_its_penalty_and_refuses_bad_values():
    weight_decay = example("class WeightDecay")["WeightDecay"]
    actor = {"trunk": jnp.array([1.0, -2.0, 3.0])}
    loss, metrics = weight_decay(decay=0.5).extra_actor_loss(None, (), actor, None, None)
    assert float(loss) == 7.0
    assert float(metrics["loss_decay"]) == 14.0
    with pytest.raises(BadValueError, match=r"decay is -1\.0; expected a number of at least 0"):
        weight_decay(decay=-1)


def test_the_example_of_a_figure_draws_the_share_of_learned_tasks():
    scene = Scene(made_collection(["recall"], ["cw3-1"], seeds=2))
    (figure,) = example("learned_tasks")["make_figures"](scene)
    assert isinstance(figure, Figure)
    drawn = figure.figure.axes[0].get_lines()[0].get_ydata()
    shares = [(scene.successes(run) > 0.5).mean(axis=1) for run in scene.collection.runs]
    np.testing.assert_allclose(drawn, np.mean(shares, axis=0))


def test_every_path_on_the_page_exists():
    root = Path(__file__).parents[1]
    named = re.findall(r"`((?:recall|tests|docs)/[\w./]*)`", PAGE)
    assert len(named) > 10
    missing = [path for path in named if not (root / path).exists()]
    assert missing == []
