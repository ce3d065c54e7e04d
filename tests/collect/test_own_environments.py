"""Worker processes know the Gymnasium environments that are registered in the main process."""

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import recall
from recall.errors import BadValueError
from recall.worlds.gym_registration import registrations_for

MODULE = """
import gymnasium
from gymnasium.envs.classic_control.pendulum import PendulumEnv

class Counting(PendulumEnv):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, self.pay, *rest

    pay = 3.0

gymnasium.register("InModule-v0", entry_point=Counting, max_episode_steps=20)
"""

# A worker answers with the returns of 20 steps, so each environment pays another reward.
SCRIPT = """
import json, sys
import gymnasium, numpy as np
import own_module
from own_module import Counting
from recall.collect.evaluation_pool import EvaluationPool
from recall.collect.messages import Episode, RunTasks
from recall.collect.policy import PolicyShape
from recall.settings import WorldSettings

class InScript(Counting):
    pay = 5.0

class ByText(Counting):
    pay = 7.0

class Made(Counting):
    pay = 11.0

def made():
    return gymnasium.make("Made-v0")

for entry in (InScript, "__main__:ByText", Made, "own_module:Counting"):
    name = entry if isinstance(entry, str) else entry.__name__
    gymnasium.register(f"{name.rpartition(':')[2]}-v0", entry_point=entry, max_episode_steps=20)

if __name__ == "__main__":
    names = ("InModule-v0", "InScript-v0", "ByText-v0", "Counting-v0", "own_module:InModule-v0")
    tasks = (*(f"gym:{name}" for name in names), made)
    shape = PolicyShape(3, 1, (4,), "relu")
    pool = EvaluationPool([RunTasks(0, tasks)], WorldSettings(), shape, workers=1)
    try:
        pool.start([Episode(0, place, True, (0,)) for place in range(len(tasks))])
        print(json.dumps([result.episode_return for result in pool.results()]))
    finally:
        pool.close()
    import recall
    env = recall.make_vec("gym:InScript-v0", 2, workers=2, seed=0)
    env.reset()
    print(json.dumps(env.step(env.action_space.sample())[1].tolist()))
    env.close()
"""


def test_workers_know_environments_of_modules_scripts_and_functions(tmp_path):
    (tmp_path / "own_module.py").write_text(MODULE)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "Overriding" not in done.stderr
    played, stepped = map(json.loads, done.stdout.splitlines())
    assert played == [20 * pay for pay in (3.0, 5.0, 7.0, 3.0, 3.0, 11.0)]
    assert stepped == [5.0, 5.0]


class Unsendable:
    def __reduce__(self):
        raise TypeError("it holds a file")


class Unreadable:
    def __reduce__(self):
        return _fails, ()


def _fails():
    raise RuntimeError("no licence here")


@pytest.fixture
def registered():
    """Register Pendulum with an argument; forget it afterwards."""
    before = dict(gymnasium.registry)

    def register(name, argument):
        entry = "gymnasium.envs.classic_control:PendulumEnv"
        gymnasium.register(name, entry_point=entry, kwargs={"g": argument}, max_episode_steps=20)

    yield register
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def test_an_environment_that_cannot_be_sent_matters_only_if_it_is_a_task(registered):
    registered("Unsendable-v0", Unsendable())
    assert "Unsendable-v0" not in registrations_for(["gym:Pendulum-v1"]).gym_specs
    assert not registrations_for(["point-rich"]).gym_specs
    with pytest.raises(BadValueError, match=r"gym:Unsendable-v0 cannot be sent .*holds a file"):
        registrations_for(["gym:Unsendable-v0"])


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("name", ["Unreadable-v0", "Pendulum-v1"])
def test_an_environment_that_a_worker_cannot_read_is_named_with_the_reason(registered, name):
    """It matters only to its own task, but nothing else of the same id is played in its place."""
    registered(name, Unreadable())
    with pytest.raises(BadValueError, match=f"gym:{name} .*no licence here"):
        registrations_for([f"gym:{name}"]).register()  # as a worker does
    registrations_for(["gym:MountainCarContinuous-v0"]).register()
    assert name not in gymnasium.registry


def test_a_module_in_the_name_of_a_task_is_imported(tmp_path, monkeypatch, registered):
    (tmp_path / "named_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    env = recall.make("gym:named_module:InModule-v0")
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[1] == 3.0
    assert env.horizon_steps == 20
    assert Path(sys.modules["named_module"].__file__).parent == tmp_path
