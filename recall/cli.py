"""The command `recall`. A command is a function in `recall.commands` and a line in `_commands`."""

import os
import sys
from collections.abc import Sequence

import tyro
from tyro.extras import SubcommandApp

from recall.commands import bench, listing
from recall.errors import RecallError

_BAD_INPUT = 2
_INTERRUPTED = 130

DESCRIPTION = (
    """Continual reinforcement learning that keeps old skills and still learns new ones."""
)


def _commands() -> SubcommandApp:
    app = SubcommandApp()
    lists = SubcommandApp()
    lists.command(name="tasks")(listing.list_tasks)
    lists.command(name="sequences")(listing.list_sequences)
    app.command(lists, name="list", help="The names that other commands take.")
    benches = SubcommandApp()
    benches.command(name="worlds")(bench.bench_worlds)
    app.command(benches, name="bench", help="How fast things are on this machine.")
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what the user can mend is told in one line, without a traceback."""
    try:
        _commands().cli(
            prog="recall",
            description=DESCRIPTION,
            args=arguments,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
        sys.stdout.flush()
    except RecallError as error:
        print(f"recall: {error}", file=sys.stderr)
        sys.exit(_BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
