"""The sentence on tasks that do not report success."""

from collections.abc import Iterable


def left_out(tasks: Iterable[str]) -> str:
    """Return a sentence on the tasks that means of success leave out, or nothing without any."""
    names = ", ".join(dict.fromkeys(tasks))
    return f"Without {names}, whose success is not reported." if names else ""
