"""The default callbacks of training."""

from rich.console import Console

from recall.files.streams import is_terminal
from recall.training.callbacks.callback import Callback, CallbackList
from recall.training.callbacks.display import Lines, LiveView
from recall.training.callbacks.tensorboard_callback import TensorBoard


def on_screen(quiet: bool = False) -> Callback:
    """Return a live view on a terminal, plain lines elsewhere, or no output if `quiet`."""
    if quiet:
        return Callback()
    console = Console(stderr=True)
    return LiveView(console) if is_terminal(console) else Lines()


def default_callbacks(
    quiet: bool = False, tensorboard: bool = True, wandb: str | None = None
) -> Callback:
    """Return callbacks for the screen, TensorBoard and, if a project is named, Weights & Biases."""
    callbacks = [on_screen(quiet)]
    if tensorboard:
        callbacks.append(TensorBoard())
    if wandb is not None:
        from recall.training.callbacks.wandb_callback import WeightsAndBiases

        callbacks.append(WeightsAndBiases(wandb))
    return CallbackList(callbacks)
