"""Registry of the continual-learning methods; docs/plugins.md says how to add one."""

import dataclasses
from typing import Any

from recall.errors import BadValueError, UnknownNameError
from recall.learn.method import Method
from recall.methods.agem import AGem
from recall.methods.cka_rl import CkaRl
from recall.methods.clear import Clear
from recall.methods.clonex import ClonEx
from recall.methods.ewc import Ewc
from recall.methods.fame import Fame
from recall.methods.fine_tuning import FineTuning
from recall.methods.l2 import L2
from recall.methods.mas import Mas
from recall.methods.multi_task import MultiTask
from recall.methods.packnet import PackNet
from recall.methods.perfect_memory import PerfectMemory
from recall.methods.recall import Recall
from recall.methods.reset import Reset
from recall.methods.reset_and_distill import ResetAndDistill
from recall.methods.ssde import Ssde
from recall.methods.vcl import Vcl
from recall.plugins import HOW_TO_IMPORT, Registry, note


def _checked(name: str, method: Any) -> type[Method]:
    """Return the method of a plug-in, if it can be used under this name."""
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise BadValueError(f"method {name!r} is {method!r}, not a class derived from Method")
    if "name" not in vars(method):  # a base class's name would be taken for this one's
        raise BadValueError(
            f"method class {method.__name__} does not define its own name: add one to it, such as "
            f'name: ClassVar[str] = "my_method"'
        )
    if method.name != name:
        raise BadValueError(f"method {name!r}: its class {method.__name__} is named {method.name}")
    if "__dataclass_params__" not in vars(method) or not method.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise BadValueError(
            f"method {name!r}: its class {method.__name__} must be a @dataclass(frozen=True)"
        )
    if any(field.default is dataclasses.MISSING for field in dataclasses.fields(method)):
        raise BadValueError(f"method {name!r}: every setting needs a default")
    return method


# The order of tables and figures: methods that the paper compares come first.
OURS: dict[str, type[Method]] = {
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
        ResetAndDistill,
        Fame,
        CkaRl,
        Ssde,
        MultiTask,
    )
}
METHODS: Registry[type[Method]] = Registry("recall.methods", OURS, _checked)


def register_method(method: type[Method]) -> type[Method]:
    """Make a method known by its name; to be used as a decorator, above `@dataclass`.

    Names of our methods cannot be taken. A later class of the same name replaces an earlier one.
    """
    checked = _checked(getattr(method, "name", "?"), method)
    if checked.name in OURS:
        raise BadValueError(f"method {checked.name!r} is one of recall's own: choose another name")
    METHODS[checked.name] = checked
    note(checked.__module__)
    return checked


def method_class(name: str) -> type[Method]:
    """Return the class of the method called `name`, spelt with underscores or dashes."""
    spelt = name.replace("-", "_")
    if spelt not in METHODS:
        raise UnknownNameError("method", name, METHODS, HOW_TO_IMPORT)
    return METHODS[spelt]


__all__ = ["METHODS", "OURS", "Method", "method_class", "register_method"]
