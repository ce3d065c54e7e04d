"""Callbacks: the trainer tells them what happens, and they show or store it."""

from recall.callbacks.callback import Callback, CallbackList

__all__ = ["Callback", "CallbackList"]
