"""What callbacks showed of a fleet, read back."""

import io
import struct

from rich.console import Console
from tensorboardX.proto.event_pb2 import Event

from recall.training.callbacks import Callback, CallbackList
from recall.training.display import Display
from recall.training.loggers import TensorBoardCallback


class Heard(Callback):
    """Keeps the messages."""

    def __init__(self):
        self.messages = []

    def on_message(self, message):
        self.messages.append(message)


class Seen:
    """Three callbacks at once, and what they showed."""

    def __init__(self):
        self.lines, self.screen = io.StringIO(), io.StringIO()
        console = Console(file=self.screen, force_terminal=True, width=120, color_system=None)
        displays = Display(Console(file=self.lines)), Display(console, live=True)
        self.callback = CallbackList([*displays, TensorBoardCallback()])


def events(folder):
    """Return (tag, step) of every value in a folder of TensorBoard events."""
    found = []
    for path in sorted(folder.glob("events.*")):
        content = path.read_bytes()
        while content:
            (length,) = struct.unpack("<Q", content[:8])
            event = Event.FromString(content[12 : 12 + length])
            content = content[16 + length :]
            found += [(value.tag, event.step) for value in event.summary.value]
            if event.session_log.status == 1:  # what stands at this step or later is dropped
                found = [(tag, step) for tag, step in found if step < event.step]
    return found
