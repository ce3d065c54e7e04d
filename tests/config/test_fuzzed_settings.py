"""Settings files and options of any kind are used or refused in one line, never a traceback."""

import dataclasses
import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recall.commands.train import parse_train, spec_of
from recall.config.resolve import paths, resolve
from recall.config.spec import FleetSpec
from recall.errors import RecallError
from recall.methods import METHODS
from recall.settings import Settings
from tests.files.damage import ANY_JSON, EFFORT, NUMBERS, SIMPLE, TEXTS, damaged_bytes, make_folder

EXAMPLES = 200 * EFFORT
UNHURRIED = {"deadline": None, "suppress_health_check": list(HealthCheck)}
ARGUMENTS = ("method", "sequence", "seeds", "preset")


def names_of_settings():
    """Every name under which a setting can be given: with its groups, without, and the groups."""
    found = set(paths(Settings()))
    found |= {field.name for kind in METHODS.values() for field in dataclasses.fields(kind)}
    found |= {path.rpartition(".")[2] for path in found}
    found |= {path.partition(".")[0] for path in found}
    return sorted(found)


NAMES = st.sampled_from(names_of_settings())
# Half of the values are of the kind that some setting takes.
VALUES = st.one_of(
    ANY_JSON,
    NUMBERS,
    st.sampled_from([1, 50, 0.1, 1e-3, True, "relu", "v2", "raw", [64, 64], "paper", "quick"]),
)
CONTENTS = st.one_of(
    st.dictionaries(NAMES | st.sampled_from(ARGUMENTS) | TEXTS, VALUES, max_size=4),
    ANY_JSON,
)


def refusal(function, *arguments, **keywords):
    """The message with which a function refuses its arguments; empty if it returns a fleet."""
    try:
        assert isinstance(function(*arguments, **keywords), FleetSpec)
    except RecallError as error:
        return str(error)
    return ""


def check(message):
    assert "\n" not in message
    assert len(message) < 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("settings")


@settings(max_examples=EXAMPLES, **UNHURRIED)
@given(content=CONTENTS)
def test_any_json_is_a_fleet_or_refused(folder, content):
    path = folder / "settings.json"
    path.write_text(json.dumps(content))
    check(refusal(resolve, config=path))


SAMPLE = b"""{"method": "recall", "sequence": ["cw3-1"], "seeds": [0, 1], "steps_per_task": 1e5,
"popart": {"statistics_of": "raw", "sigma_bounds": [0.1, 2]}, "hidden": [64, 64]}"""
TOML = b"""method = "recall"
seeds = [0, 1, 2]
steps_per_task = 100_000
started = 1979-05-27T07:32:00Z
limit = inf
[popart]
statistics_of = "normalised"
"""


@settings(max_examples=EXAMPLES, **UNHURRIED)
@given(data=st.data())
def test_any_bytes_are_a_fleet_or_refused(folder, data):
    suffix = data.draw(st.sampled_from([".json", ".toml", ".yaml"]))
    content = data.draw(damaged_bytes(TOML if suffix == ".toml" else SAMPLE))
    path = folder / f"bytes{suffix}"
    path.write_bytes(content)
    check(refusal(resolve, config=path))


def test_a_folder_is_no_settings_file(folder):
    make_folder(folder / "folder.json")
    assert "cannot be read" in refusal(resolve, config=folder / "folder.json")


WORDS = st.one_of(
    SIMPLE.map(str), VALUES.map(str), st.sampled_from(["inf", "-inf", "nan", "1e999", "0x10", "--"])
)
OPTIONS = st.lists(
    st.one_of(
        NAMES.map(lambda name: f"--{name.replace('_', '-')}"),
        st.sampled_from(
            ["--method", "--seeds", "--sequence", "--preset", "--no-rehearse", "--out"]
        ),
        TEXTS.map(lambda text: f"--{text}"),
        WORDS,
    ),
    max_size=6,
)


@settings(max_examples=EXAMPLES, **UNHURRIED)
@given(words=OPTIONS)
@example(words=["--\n", "--\n", "None"])
def test_any_options_are_a_fleet_or_refused(words):
    check(refusal(lambda: spec_of(*parse_train(words))))
