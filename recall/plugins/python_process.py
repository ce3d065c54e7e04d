"""New Python processes that find the same modules as this one, and none in the current folder.

There any file may lie: a script of the user's called `pickle.py`, or a stranger's.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_PACKAGE_FOLDER = str(Path(__file__).parents[2])  # in which this process found the package
_SAFE_PATH = "PYTHONSAFEPATH"  # Python's -P as a variable of the environment, with any value


def python_command(imports: str, program: str, *arguments: object) -> list[str]:
    """Return the command of a new Python process that runs `imports`, then `program`.

    Both are Python code; `arguments` are `sys.argv[1:]` there. The process finds what this one
    does: what was added to Python's search path, or a checkout that is not installed. A notebook or
    `python -c` has the current folder in its path too, but has long imported what it needs; so
    `imports` are done without it.
    """
    path = [folder for folder in sys.path if isinstance(folder, str)]  # others are ignored
    package = [] if _PACKAGE_FOLDER in path else [_PACKAGE_FOLDER]
    # A long path is written only once: Linux takes no argument of 128 KiB.
    steps = (
        f"import sys; path = {path!r}",
        f"sys.path[:] = {package!r} + list(filter(None, path)); {imports}",
        f"sys.path[:] = path; {program}",
    )
    return [sys.executable, "-P", "-c", "; ".join(steps), *map(str, arguments)]


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Let processes that `multiprocessing` starts in this context ignore the current folder."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = before or "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
