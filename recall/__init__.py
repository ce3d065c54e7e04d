"""Continual reinforcement learning that keeps old skills and still learns new ones."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recall.worlds.gym_registration import register_all as _register_all

if TYPE_CHECKING:
    from recall.analysis.frames import frame as frame
    from recall.api import evaluate as evaluate
    from recall.api import export_minari as export_minari
    from recall.api import resume as resume
    from recall.api import train as train
    from recall.filming.film import film as film
    from recall.plugins import load_plugin as load_plugin
    from recall.policies.policy import load_policy as load_policy
    from recall.report.build import make_report as make_report
    from recall.report.hub import pull as pull
    from recall.report.hub import push as push
    from recall.report.results import Results as Results
    from recall.report.results import load_results as load_results
    from recall.runs.archive import archive as archive
    from recall.training.callbacks import Callback as Callback
    from recall.training.callbacks import CallbackList as CallbackList
    from recall.training.loggers import TensorBoardCallback as TensorBoardCallback
    from recall.training.loggers import TrackioCallback as TrackioCallback
    from recall.training.loggers import WandbCallback as WandbCallback
    from recall.training.loggers import default_callbacks as default_callbacks
    from recall.worlds.env import make as make
    from recall.worlds.sb3_vec_env import make_sb3_vec as make_sb3_vec
    from recall.worlds.sequence_env import make_sequence as make_sequence
    from recall.worlds.vector import make_vec as make_vec

    __version__: str

# Exported names by module, which are loaded at first use to keep `import recall` fast.
_MODULES = {
    "recall.worlds.env": ("make",),
    "recall.worlds.vector": ("make_vec",),
    "recall.worlds.sequence_env": ("make_sequence",),
    "recall.worlds.sb3_vec_env": ("make_sb3_vec",),
    "recall.api": ("train", "resume", "evaluate", "export_minari"),
    "recall.training.callbacks": ("Callback", "CallbackList"),
    "recall.training.loggers": (
        "TensorBoardCallback",
        "TrackioCallback",
        "WandbCallback",
        "default_callbacks",
    ),
    "recall.report.results": ("Results", "load_results"),
    "recall.plugins": ("load_plugin",),
    "recall.policies.policy": ("load_policy",),
    "recall.filming.film": ("film",),
    "recall.report.build": ("make_report",),
    "recall.analysis.frames": ("frame",),
    "recall.runs.archive": ("archive",),
    "recall.report.hub": ("push", "pull"),
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names}
__all__ = ["__version__", *_EXPORTS]

_register_all()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("recall.version").version()
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
