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
    from recall.training.callbacks.defaults import default_callbacks as default_callbacks
    from recall.training.callbacks.tensorboard_callback import (
        TensorBoardCallback as TensorBoardCallback,
    )
    from recall.training.callbacks.trackers import TrackioCallback as TrackioCallback
    from recall.training.callbacks.trackers import WandbCallback as WandbCallback
    from recall.worlds.env import make as make
    from recall.worlds.sb3_vec_env import make_sb3_vec as make_sb3_vec
    from recall.worlds.sequence_env import make_sequence as make_sequence
    from recall.worlds.vector import make_vec as make_vec

    __version__: str

# Exported names and their modules, which are loaded at first use to keep `import recall` fast.
_EXPORTS = {
    "make": "recall.worlds.env",
    "make_vec": "recall.worlds.vector",
    "make_sequence": "recall.worlds.sequence_env",
    "make_sb3_vec": "recall.worlds.sb3_vec_env",
    "train": "recall.api",
    "resume": "recall.api",
    "evaluate": "recall.api",
    "export_minari": "recall.api",
    "Callback": "recall.training.callbacks",
    "CallbackList": "recall.training.callbacks",
    "default_callbacks": "recall.training.callbacks.defaults",
    "TensorBoardCallback": "recall.training.callbacks.tensorboard_callback",
    "TrackioCallback": "recall.training.callbacks.trackers",
    "WandbCallback": "recall.training.callbacks.trackers",
    "Results": "recall.report.results",
    "load_results": "recall.report.results",
    "load_plugin": "recall.plugins",
    "load_policy": "recall.policies.policy",
    "film": "recall.filming.film",
    "make_report": "recall.report.build",
    "frame": "recall.analysis.frames",
    "archive": "recall.runs.archive",
    "push": "recall.report.hub",
    "pull": "recall.report.hub",
}
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
