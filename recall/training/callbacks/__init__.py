"""Callbacks, which the trainer notifies of events and which show or store them."""

from recall.training.callbacks.callback import Callback, CallbackList

__all__ = ["Callback", "CallbackList"]
