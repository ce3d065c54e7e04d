"""The command `recall`. Each command is a function in `recall.commands`, listed in `_COMMANDS`."""

import inspect
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import tyro
from tyro.extras import SubcommandApp

import recall
from recall.commands import (
    archive,
    bench,
    demo,
    export,
    film,
    listing,
    report,
    study,
    train,
)
from recall.commands.interruption import (
    CTRL_C_STATUS,
    clean_up_on_sigterm,
    exit_at_once_on_ctrl_c,
    tolerate_closed_terminal,
)
from recall.commands.options import PLUGIN_HELP, arguments_of
from recall.errors import BadValueError, RecallError, UnknownNameError, raised_at
from recall.files.atomic import NO_SPACE
from recall.files.streams import redirect_to_devnull
from recall.plugins import load_plugin

_BAD_INPUT = 2
_DEBUG = "--debug"

DESCRIPTION = (
    "Continual reinforcement learning that keeps old skills and still learns new ones. "
    f"`recall --version` prints the version. {PLUGIN_HELP}"
)
_COMMANDS: dict[str, Any] = {
    "demo": demo.demo,
    "train": train.train_command,
    "resume": train.resume,
    "evaluate": train.evaluate,
    "report": report.report,
    "compare": report.compare,
    "board": report.board,
    "archive": archive.archive,
    "push": archive.push,
    "pull": archive.pull,
    "film": film.film,
    "export": export.export,
    "study": study.study,
    "list": {
        "tasks": listing.list_tasks,
        "sequences": listing.list_sequences,
        "methods": listing.list_methods,
        "presets": listing.list_presets,
        "studies": listing.list_studies,
    },
    "bench": {
        "worlds": bench.bench_worlds,
        "learner": bench.bench_learner,
        "fleet": bench.bench_fleet,
        "replicas": bench.bench_replicas,
    },
}
_GROUP_HELP = {
    "list": "List the names that other commands accept.",
    "bench": "Measure speeds on this machine.",
}


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
    if arguments == ["--version"]:
        print(f"recall {recall.__version__}")
        return
    words, rest = ["recall"], arguments
    command: Any = _COMMANDS
    while isinstance(command, dict) and rest and rest[0] in command:
        words, command, rest = [*words, rest[0]], command[rest[0]], rest[1:]
    # The others clean up files after an exception; these have none, and workers end with them.
    at_once = words[-1] in ("train", "resume", "evaluate", "study")
    with exit_at_once_on_ctrl_c() if at_once else clean_up_on_sigterm():
        if command is train.train_command:  # whose options depend on the method
            command(rest)
        elif isinstance(command, dict):
            _help_on_group(words, command, rest)
        else:
            _call(" ".join(words), command, rest)


def _help_on_group(words: list[str], commands: Mapping[str, Any], rest: list[str]) -> None:
    """Print the help of a group of commands, or refuse a command that is not in it."""
    if rest and rest[0] not in ("-h", "--help"):
        group = words[1:]
        valid = [" ".join([*group, name]) for name in commands]
        hint = "Options follow the command." if rest[0].startswith("-") else ""
        raise UnknownNameError("command", " ".join([*group, rest[0]]), valid, hint)
    about = f"{_GROUP_HELP[words[-1]]} {PLUGIN_HELP}" if words[1:] else DESCRIPTION
    _app(commands).cli(prog=" ".join(words), description=about, args=rest)


def _call(name: str, command: Any, rest: list[str]) -> None:
    if {"-h", "--help"} & set(rest):
        documented = str(inspect.getdoc(command))
        summary = documented.partition("\n\nArgs:")[0]
        # Arguments of more than one line: tyro would keep the breaks.
        command.__doc__ = re.sub(r"\n {8,}", " ", documented)
        tyro.cli(command, prog=name, description=f"{summary} {PLUGIN_HELP}", args=rest)
    command(**arguments_of(command, rest, name))


def _app(commands: Mapping[str, Any]) -> SubcommandApp:
    """Return a group of commands, for its help."""
    app = SubcommandApp()
    for name, command in commands.items():
        of_group = _app(command) if isinstance(command, dict) else command
        app.command(of_group, name=name, help=_GROUP_HELP.get(name))
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; print errors that the user can fix in one line, without a traceback."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = _DEBUG in arguments
    with tolerate_closed_terminal():
        try:
            _run([argument for argument in arguments if argument != _DEBUG])
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            sys.exit(CTRL_C_STATUS)
        except Exception as error:
            if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed it
                _drop_output()
                return
            message = _in_one_line(error)
            if message is None:  # a bug of ours
                raise
            if debug:
                traceback.print_exc()
            print(f"recall: {message}", file=sys.stderr)
            sys.exit(getattr(error, "exit_status", _BAD_INPUT))


def _in_one_line(error: Exception) -> str | None:
    """Return what the user can do something about, or None for what only a bug could cause."""
    if isinstance(error, RecallError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:  # the disk or its owner refuses
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno in NO_SPACE:  # a write names no file
        _drop_output()
        return f"the output cannot be written: {error.strerror}"
    if (where := raised_at(error)) is not None:
        return f"{where}: {type(error).__name__}: {error} ({_DEBUG} shows the traceback)"
    return None


def _drop_output() -> None:
    """Drop what standard output still holds, which would fail again at the end."""
    if sys.stdout is not None:
        redirect_to_devnull(sys.stdout.fileno())
