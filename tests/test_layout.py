"""The package stays easy to find one's way in."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "recall").rglob("*.py"))
LONGEST_FUNCTION = 60


def test_no_function_is_longer_than_a_screen():
    long = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in (*MODULES, *sorted((ROOT / "tests").rglob("*.py")))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _lines(node) > LONGEST_FUNCTION
    ]
    assert long == []


def _lines(function):
    """Lines of code: a docstring may be long."""
    return sum(part.end_lineno - part.lineno + 1 for part in function.body[1:])


def test_few_modules_lie_loose_and_few_share_a_name():
    assert len([path for path in MODULES if path.parent == ROOT / "recall"]) <= 6
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert {name: count for name, count in names.items() if count > 2} == {}


def test_there_are_few_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    flow = next(each for each in settings["tool"]["importlinter"]["contracts"] if "layers" in each)
    assert len(flow["layers"]) <= 13
