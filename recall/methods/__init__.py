"""The methods, one file each, and their registry: a new method is one file and one line here."""

from recall.errors import UnknownNameError
from recall.methods.base import Method
from recall.methods.fine_tuning import FineTuning
from recall.methods.perfect_memory import PerfectMemory
from recall.methods.recall import Recall

METHODS: dict[str, type[Method]] = {
    method.name: method for method in (FineTuning, PerfectMemory, Recall)
}


def method_class(name: str) -> type[Method]:
    """The method called `name`."""
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[name]


__all__ = ["METHODS", "FineTuning", "Method", "PerfectMemory", "Recall", "method_class"]
