"""The command `recall`. Each command is a function in `recall.commands`, listed in `_COMMANDS`."""

import contextlib
import errno
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import tyro
from tyro.extras import SubcommandApp

import recall
from recall.commands import (
    archive,
    bench,
    compare,
    demo,
    export,
    film,
    listing,
    report,
    study,
    train,
)
from recall.commands.ctrl_c import EXIT_STATUS, ended_by_ctrl_c
from recall.commands.lost_terminal import outliving_terminal
from recall.commands.numbers import numbers_as_in_settings
from recall.commands.options import PLUGIN_HELP
from recall.errors import BadValueError, RecallError, UnknownNameError
from recall.files.streams import redirect_to_devnull
from recall.plugins import load_plugin

_BAD_INPUT = 2
# What a disk or its owner refuses: permissions, a full disk, a file in a folder's place.
_NOT_OURS = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ELOOP,
    errno.ENAMETOOLONG,
)

DESCRIPTION = (
    "Continual reinforcement learning that keeps old skills and still learns new ones. "
    f"`recall --version` prints the version. {PLUGIN_HELP}"
)


def _train(*_: str) -> None:
    """Keep the place of `train`, whose options are parsed separately: they depend on the method."""


_COMMANDS: dict[str, Any] = {
    "demo": demo.demo,
    "train": _train,
    "resume": train.resume,
    "evaluate": train.evaluate,
    "report": report.report,
    "compare": compare.compare,
    "archive": archive.archive,
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
    },
}
_HELP = {
    "train": train.TRAIN_HELP,
    "list": "List the names that other commands accept.",
    "bench": "Measure speeds on this machine.",
}
"""One line on each command whose docstring does not say it."""


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
    words, command, rest = _chosen(arguments)
    # The others clean up files after an exception; these have none, and workers end with them.
    at_once = words[-1] in ("train", "resume", "evaluate", "study")
    with ended_by_ctrl_c() if at_once else contextlib.nullcontext():
        _call(words, command, rest)


def _call(words: list[str], command: Any, rest: list[str]) -> None:
    if command is _train:
        train.train_command(rest)
    elif isinstance(command, dict):
        _check_group(words[1:], rest, command)
        about = f"{_HELP[words[-1]]} {PLUGIN_HELP}" if words[1:] else DESCRIPTION
        _app(command).cli(prog=" ".join(words), description=about, args=rest)
    else:
        numbers = numbers_as_in_settings(command, rest)
        about = f"{inspect.getdoc(command)} {PLUGIN_HELP}"
        # The command alone, so that options of other commands are not suggested for unknown ones.
        tyro.cli(command, prog=" ".join(words), description=about, args=rest, registry=numbers)


def _check_group(group: list[str], rest: list[str], commands: Mapping[str, Any]) -> None:
    """Raise an error if what follows a group is neither nothing nor an option of its own."""
    if not rest or rest[0] in ("-h", "--help") or rest[0].startswith("--tyro-"):
        return
    if rest[0].startswith("-"):
        name = " ".join(["recall", *group, "COMMAND"])
        raise BadValueError(f"{rest[0]}: options follow the command, as in `{name} {rest[0]}`")
    raise UnknownNameError(
        "command", " ".join([*group, rest[0]]), [" ".join([*group, name]) for name in commands]
    )


def _chosen(arguments: Sequence[str]) -> tuple[list[str], Any, list[str]]:
    """Return the words that name the command, the command or group, and the other arguments."""
    words, chosen, rest = ["recall"], _COMMANDS, list(arguments)
    while isinstance(chosen, dict) and rest and rest[0] in chosen:
        words.append(rest.pop(0))
        chosen = chosen[words[-1]]
    return words, chosen, rest


def _app(commands: Mapping[str, Any]) -> SubcommandApp:
    """Return a group of commands, for its help."""
    app = SubcommandApp()
    for name, command in commands.items():
        if isinstance(command, dict):
            app.command(_app(command), name=name, help=_HELP.get(name))
        else:
            app.command(name=name, help=_HELP.get(name))(command)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; print errors that the user can fix in one line, without a traceback."""
    with outliving_terminal():
        try:
            _run(sys.argv[1:] if arguments is None else arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
        except RecallError as error:
            print(f"recall: {error}", file=sys.stderr)
            sys.exit(getattr(error, "exit_status", _BAD_INPUT))
        except KeyboardInterrupt:
            sys.exit(EXIT_STATUS)
        except OSError as error:
            _tell_of_system(error)


def _tell_of_system(error: OSError) -> None:
    """Print an error of the system in one line, if it is not one that only a bug could cause."""
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed the pipe
        redirect_to_devnull(sys.stdout.fileno())
    elif error.errno in _NOT_OURS and error.filename is not None:
        print(f"recall: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(_BAD_INPUT)
    elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # a write names no file
        print(f"recall: the output cannot be written: {error.strerror}", file=sys.stderr)
        if sys.stdout is not None:  # what it still holds would fail again at the end
            redirect_to_devnull(sys.stdout.fileno())
        sys.exit(_BAD_INPUT)
    else:
        raise error
