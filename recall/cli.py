"""The command `recall`. Each command is a function in `recall.commands`, listed in `_commands`."""

import os
import sys
from collections.abc import Sequence

import tyro
from tyro.extras import SubcommandApp

from recall.commands import bench, demo, export, film, listing, report, study, train
from recall.errors import BadValueError, RecallError
from recall.plugins import load_plugin

_BAD_INPUT = 2
_INTERRUPTED = 130

DESCRIPTION = (
    """Continual reinforcement learning that keeps old skills and still learns new ones. Every """
    """command also accepts --plugin MODULE_OR_FILE, which makes methods, worlds or figures of """
    """your own known; it may be given more than once."""
)


def _commands() -> SubcommandApp:
    app = SubcommandApp()
    app.command(name="demo")(demo.demo)
    app.command(name="train", help=train.TRAIN_HELP)(_train_is_parsed_apart)
    app.command(name="resume")(train.resume)
    app.command(name="evaluate")(train.evaluate)
    app.command(name="report")(report.report)
    app.command(name="film")(film.film)
    app.command(name="export")(export.export)
    app.command(name="study")(study.study)
    lists = SubcommandApp()
    lists.command(name="tasks")(listing.list_tasks)
    lists.command(name="sequences")(listing.list_sequences)
    lists.command(name="methods")(listing.list_methods)
    lists.command(name="presets")(listing.list_presets)
    lists.command(name="studies")(listing.list_studies)
    app.command(lists, name="list", help="List the names that other commands accept.")
    benches = SubcommandApp()
    benches.command(name="worlds")(bench.bench_worlds)
    benches.command(name="learner")(bench.bench_learner)
    benches.command(name="fleet")(bench.bench_fleet)
    app.command(benches, name="bench", help="Measure speeds on this machine.")
    return app


def _train_is_parsed_apart() -> None:
    """Stand in for `train`, which is parsed apart because its options depend on the method."""


def without_plugins(arguments: Sequence[str]) -> list[str]:
    """Load every `--plugin MODULE_OR_FILE` and return the other arguments.

    Plug-ins come first, because options and the values they accept depend on them.
    """
    rest: list[str] = []
    pending = iter(arguments)
    for argument in pending:
        name, is_joined, value = argument.partition("=")
        if name != "--plugin":
            rest.append(argument)
            continue
        source = value if is_joined else next(pending, "")
        if not source or source.startswith("--"):
            raise BadValueError("--plugin: give a module or a .py file after it")
        load_plugin(source)
    return rest


def _run(arguments: Sequence[str]) -> None:
    arguments = without_plugins(arguments)
    if arguments and arguments[0] == "train":
        train.train_command(arguments[1:])
        return
    _commands().cli(
        prog="recall",
        description=DESCRIPTION,
        args=arguments,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; print errors that the user can fix in one line, without a traceback."""
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except RecallError as error:
        print(f"recall: {error}", file=sys.stderr)
        sys.exit(getattr(error, "exit_status", _BAD_INPUT))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
