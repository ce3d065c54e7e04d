"""Strategies that damage files: any JSON in any place, flipped and lost bytes, folders."""

import json
import os
import shutil

from hypothesis import strategies as st

# How many times as many examples as in `make test` are tried.
EFFORT = int(os.environ.get("RECALL_EFFORT", "1"))

ODD_NUMBERS = st.sampled_from([10**9, -(2**63), 2**64, 10**400, 0.5, 1e308, 1.5])
ODD_TEXTS = ["recall", "point-rich", "../..", "/", "..", "nan", "gym:", "cw3-1", "v1", ","]
NUMBERS = st.integers(-3, 3) | st.floats() | ODD_NUMBERS
TEXTS = st.text(max_size=6) | st.sampled_from(ODD_TEXTS)
SIMPLE = st.none() | st.booleans() | NUMBERS | TEXTS
ANY_JSON = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def places(tree, above=()):
    """The path of every value in a tree of dictionaries and lists."""
    yield above
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places(value, (*above, key))


@st.composite
def changed_json(draw, content):
    """A copy of a JSON tree with one to three values replaced or removed."""
    tree = json.loads(json.dumps(content))
    for _ in range(draw(st.integers(1, 3))):
        *above, key = draw(st.sampled_from(sorted(places([tree]), key=str)[1:]))
        inner = whole = [tree]
        for each in above:
            inner = inner[each]
        if above and draw(st.booleans()):
            del inner[key]
        else:
            inner[key] = draw(ANY_JSON)
        (tree,) = whole
    return tree


@st.composite
def damaged_bytes(draw, content):
    """The content cut short, with flipped bytes, with others inserted, or something else."""
    at = draw(st.integers(0, max(len(content) - 1, 0)))
    flipped = bytes([*content[at : at + 1], 0][:1])[0] ^ draw(st.integers(1, 255))
    return draw(
        st.sampled_from(
            [
                b"",
                b"[" * 50_000,
                content[:at],
                content[:at] + bytes([flipped]) + content[at + 1 :],
                content[:at] + draw(st.binary(max_size=8)) + content[at:],
                draw(st.binary(max_size=40)),
            ]
        )
    )


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
