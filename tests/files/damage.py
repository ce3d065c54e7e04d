"""Strategies that damage files: any JSON in any place, flipped and lost bytes, folders."""

import json
import os
import shutil

from hypothesis import strategies as st

# How many times as many examples as in `make test` are tried.
EFFORT = int(os.environ.get("RECALL_EFFORT", "1"))

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from([10**9, -(2**63), 2**64, 10**400, 0.5, 1e308, 1.5]),
)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["recall", "point-rich", "../..", "/", "..", "nan", "gym:", "cw3-1", "v1", ","]
    ),
)
SIMPLE = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
ANY_JSON = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def places(tree, above=()):
    """The path of every value in a tree of dictionaries and lists."""
    yield above
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items if isinstance(tree, dict | list) else ():
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))
        else:
            yield (*above, key)


def put(tree, path, value, remove):
    """The tree with the value at `path` replaced or removed."""
    if not path:
        return value
    inner = tree
    for key in path[:-1]:
        inner = inner[key]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return tree


@st.composite
def changed_json(draw, content):
    """A copy of a JSON tree with one to three values replaced or removed."""
    tree = json.loads(json.dumps(content))
    for _ in range(draw(st.integers(1, 3))):
        if not isinstance(tree, dict | list):
            break
        path = draw(st.sampled_from(sorted(places(tree), key=str)))
        tree = put(tree, path, draw(ANY_JSON), draw(st.booleans()))
    return tree


@st.composite
def damaged_bytes(draw, content):
    """The content cut short, with flipped bytes, with others inserted, or something else."""
    how = draw(st.sampled_from(["cut", "flip", "insert", "other", "deep", "empty"]))
    if how == "empty" or not content:
        return b""
    at = draw(st.integers(0, len(content) - 1))
    if how == "cut":
        return content[:at]
    if how == "flip":
        return content[:at] + bytes([content[at] ^ draw(st.integers(1, 255))]) + content[at + 1 :]
    if how == "insert":
        return content[:at] + draw(st.binary(max_size=8)) + content[at:]
    if how == "deep":
        return b"[" * 50_000
    return draw(st.binary(max_size=40))


def make_folder(path):
    """Put a folder in the place of a file."""
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "inner").write_text("{}")


def restore(path, content):
    """Put a file back as it was."""
    if path.is_dir():
        shutil.rmtree(path)
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)
