"""A plug-in that registers an environment with Gymnasium: trained, evaluated, and named again."""

import sys

import gymnasium
import pytest

from recall.cli import main
from recall.files.fleet_layout import status
from tests.plugins.restored import plugins_forgotten, small

PLUGIN = """
import gymnasium
from gymnasium.envs.classic_control.pendulum import PendulumEnv

gymnasium.register(
    "HeavyPendulum-v0", entry_point=PendulumEnv, max_episode_steps=50, kwargs={"g": 15.0}
)
"""


@pytest.fixture(autouse=True)
def forgotten():
    with plugins_forgotten():
        yield
    forget()


def forget():
    gymnasium.registry.pop("HeavyPendulum-v0", None)
    sys.modules.pop("heavy_plugin", None)


@pytest.mark.slow
def test_an_environment_of_a_plugin_is_trained_and_evaluated(tmp_path, capsys):
    source = tmp_path / "heavy_plugin.py"
    source.write_text(PLUGIN)
    folder, plugin = tmp_path / "fleet", ["--plugin", str(source)]
    main(["train", "--method", "fine_tuning", "--sequence", "gym:HeavyPendulum-v0",
          "--out", str(folder), *small(tmp_path), *plugin])  # fmt: skip
    assert status(folder).is_over
    evaluate = ["evaluate", str(folder), "--episodes", "1", "--workers", "1"]
    main([*evaluate, *plugin])
    assert "gym:HeavyPendulum-v0" in capsys.readouterr().out
    forget()
    with pytest.raises(SystemExit):
        main(evaluate)
    assert f"name them again: --plugin {source}" in capsys.readouterr().err
