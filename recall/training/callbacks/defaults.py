"""The default callbacks of training."""

from importlib.util import find_spec

from rich.console import Console

from recall.files.streams import is_terminal
from recall.training.callbacks.callback import Callback, CallbackList
from recall.training.callbacks.display import Display
from recall.training.callbacks.tensorboard_callback import TensorBoardCallback


def on_screen(quiet: bool = False) -> Callback:
    """Return a live view on a terminal or in a notebook, lines elsewhere, nothing if `quiet`.

    In a notebook, rich draws in a widget, for which it needs ipywidgets.
    """
    if quiet:
        return Callback()
    console = Console(stderr=True)
    in_widget = console.is_jupyter and find_spec("ipywidgets") is not None
    return Display(console, live=in_widget or is_terminal(console))


def default_callbacks(
    quiet: bool = False, tensorboard: bool = True, wandb: str | None = None
) -> Callback:
    """Return callbacks for the screen, TensorBoard and, if a project is named, Weights & Biases."""
    callbacks = [on_screen(quiet)]
    if tensorboard:
        callbacks.append(TensorBoardCallback())
    if wandb is not None:
        from recall.training.callbacks.trackers import WandbCallback

        callbacks.append(WandbCallback(wandb))
    return CallbackList(callbacks)
