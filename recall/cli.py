"""The command `recall`. Each command is a function in `recall.commands`, listed in `_commands`."""

import errno
import os
import sys
from collections.abc import Sequence
from typing import Any

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo
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
from recall.errors import BadValueError, RecallError
from recall.plugins import load_plugin
from recall.settings.checked import Words, from_plain

_BAD_INPUT = 2
_INTERRUPTED = 130
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
    "`recall --version` prints the version. Every command also accepts --plugin MODULE_OR_FILE, "
    "which makes methods, worlds or figures of your own known; it may be given more than once."
)


def _commands() -> SubcommandApp:
    app = SubcommandApp()
    app.command(name="demo")(demo.demo)
    app.command(name="train", help=train.TRAIN_HELP)(_train_is_parsed_apart)
    app.command(name="resume")(train.resume)
    app.command(name="evaluate")(train.evaluate)
    app.command(name="report")(report.report)
    app.command(name="compare")(compare.compare)
    app.command(name="archive")(archive.archive)
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
    """Keep the place of `train`, whose options are parsed separately: they depend on the method."""


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
    if list(arguments) == ["--version"]:
        print(f"recall {recall.__version__}")
        return
    _commands().cli(
        prog="recall", description=DESCRIPTION, args=arguments, registry=_numbers_as_in_settings()
    )


def _numbers_as_in_settings() -> ConstructorRegistry:
    """Return rules that read numbers as settings are read: 1e6 is whole, NaN is no number."""
    registry = ConstructorRegistry()

    @registry.primitive_rule
    def number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        kind: Any = info.type
        if kind not in (int, float):
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=kind.__name__.upper(),
            instance_from_str=lambda words: _number(kind, words),
            is_instance=lambda value: isinstance(value, kind),
            str_from_instance=lambda value: [str(value)],
        )

    return registry


def _number(kind: Any, words: list[str]) -> Any:
    try:
        return from_plain(kind, Words(words), "an option's value")
    except BadValueError as error:
        # Unlike a ValueError, which tyro would frame, this is printed in one line.
        raise RecallError(str(error)) from error


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
    except OSError as error:
        _tell_of_system(error)


def _tell_of_system(error: OSError) -> None:
    """Print an error of the system in one line, if it is not one that only a bug could cause."""
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    elif error.errno in _NOT_OURS and error.filename is not None:
        print(f"recall: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(_BAD_INPUT)
    else:
        raise error
