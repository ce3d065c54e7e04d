"""Moved to recall.trainer (`recall.train` is the function); kept for a moment."""

from recall.trainer import Clock as Clock
from recall.trainer import Interrupted as Interrupted
from recall.trainer import Trainer as Trainer
from recall.trainer import default_workers as default_workers
