"""Callbacks, which the trainer notifies of events and which show or store them."""

from recall.callbacks.callback import Callback, CallbackList

__all__ = ["Callback", "CallbackList"]
