"""Which watchers a person gets."""

from rich.console import Console

from recall.watch.base import Several, Watcher
from recall.watch.lines import Lines
from recall.watch.live import LiveView
from recall.watch.tensorboard import TensorBoard


def on_screen(quiet: bool = False) -> Watcher:
    """A live view on a terminal, lines elsewhere, nothing if `quiet`."""
    if quiet:
        return Watcher()
    console = Console(stderr=True)
    return LiveView(console) if console.is_terminal else Lines()


def chosen_watchers(
    quiet: bool = False, tensorboard: bool = True, wandb: str | None = None
) -> Watcher:
    """The screen, TensorBoard events and, in the named project, Weights & Biases."""
    watchers = [on_screen(quiet)]
    if tensorboard:
        watchers.append(TensorBoard())
    if wandb is not None:
        from recall.watch.wandb import WeightsAndBiases

        watchers.append(WeightsAndBiases(wandb))
    return Several(watchers)
