"""Registry of the continual-learning methods; CONTRIBUTING.md says how to add one."""

from recall.errors import UnknownNameError
from recall.learn.method import Method
from recall.methods.agem import AGem
from recall.methods.clear import Clear
from recall.methods.clonex import ClonEx
from recall.methods.ewc import Ewc
from recall.methods.fine_tuning import FineTuning
from recall.methods.l2 import L2
from recall.methods.mas import Mas
from recall.methods.multi_task import MultiTask
from recall.methods.packnet import PackNet
from recall.methods.perfect_memory import PerfectMemory
from recall.methods.recall import Recall
from recall.methods.reset import Reset
from recall.methods.vcl import Vcl

# The order of tables and figures: methods that the paper compares come first.
METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        FineTuning,
        Ewc,
        PackNet,
        ClonEx,
        PerfectMemory,
        Recall,
        Clear,
        AGem,
        L2,
        Mas,
        Vcl,
        Reset,
        MultiTask,
    )
}


def method_class(name: str) -> type[Method]:
    """Return the class of the method called `name`, spelt with underscores or dashes."""
    spelt = name.replace("-", "_")
    if spelt not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[spelt]


__all__ = [
    "L2",
    "METHODS",
    "AGem",
    "Clear",
    "ClonEx",
    "Ewc",
    "FineTuning",
    "Mas",
    "Method",
    "MultiTask",
    "PackNet",
    "PerfectMemory",
    "Recall",
    "Reset",
    "Vcl",
    "method_class",
]
