"""The pages in docs/methods say what the code says."""

import dataclasses
import re
from pathlib import Path

import jax
import pytest

from recall.collect.transition import Columns
from recall.config.resolve import paths
from recall.learn.agent import Agent
from recall.methods import METHODS, Method
from recall.settings import LearnerSettings, ScheduleSettings, Settings

PAGES = Path(__file__).parents[2] / "docs" / "methods"
CONTINUAL_WORLD = Columns(observation_size=12, action_size=4)


@pytest.mark.parametrize("name", METHODS)
def test_a_page_names_every_setting_that_is_the_methods_own(name):
    page = (PAGES / f"{name}.md").read_text()
    defaults = {field.name: field.default for field in dataclasses.fields(Method)}
    for field in dataclasses.fields(METHODS[name]):
        if defaults.get(field.name, dataclasses.MISSING) != field.default:
            assert f"`{field.name}`" in page, field.name
    assert f"({name}.md)" in (PAGES / "README.md").read_text()


def settings_named(page: str) -> set[str]:
    """First columns of tables of settings, and whatever the page sets to a value."""
    found = set(re.findall(r"`([a-z][a-z_.]*)=", page))
    for table in re.findall(r"^\| setting .*\n((?:\|.*\n)+)", page, re.M):
        for line in table.splitlines():
            found |= set(re.findall(r"`([a-z_.]+)`", line.split("|")[1]))
    return found


@pytest.mark.parametrize("name", [*METHODS, "contract", "remedies"])
def test_the_settings_that_a_page_names_exist(name):
    method = METHODS.get(name, Method)
    known = {field.name for field in dataclasses.fields(method)}
    known |= {path.split(".")[-1] for path in paths(Settings())}
    named = settings_named((PAGES / f"{name}.md").read_text())
    assert len(named) >= 2 or name == "fine_tuning"
    assert named <= known


def test_every_page_is_of_a_method():
    assert {page.stem for page in PAGES.glob("*.md")} - {"README", "contract", "remedies"} == set(
        METHODS
    )


def megabytes(tree: object) -> float:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)) / 1e6


@pytest.mark.parametrize("name", METHODS)
def test_the_table_of_memory_is_what_the_shapes_say(name):
    method = METHODS[name]()
    state = jax.eval_shape(Agent(method, LearnerSettings(), CONTINUAL_WORLD, 10).init, 0)
    kept = method.memory_per_task
    rows = ScheduleSettings().replay_capacity if kept is None else kept
    old = 4 * CONTINUAL_WORLD.old_width * rows / 1e6
    sizes = megabytes(state.trainable), megabytes(state.method_state), old
    row = f"| `{name}` | " + " | ".join(f"{size:.1f}" for size in sizes) + " |"
    assert row in (PAGES / "README.md").read_text()


def test_every_hook_and_setting_of_the_contract_is_told():
    page = (PAGES / "contract.md").read_text()
    hooks = [
        name
        for name, value in vars(Method).items()
        if callable(value) and not name.startswith("_") and name != "stores_old_data"
    ]
    assert len(hooks) >= 9
    for name in hooks:
        assert f"`{name}(" in page, name
    for field in dataclasses.fields(Method):
        assert f"`{field.name}`" in page, field.name
