"""Read the options of a command. tyro prints the help; words become values as settings do.

A value therefore means the same everywhere, and an error about it is one line.
"""

import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recall.errors import BadValueError, UnknownNameError
from recall.settings.checked import Words, from_plain

PLUGIN_HELP = (
    "Every command also accepts --plugin MODULE_OR_FILE, which makes methods, worlds or figures of "
    "your own known and may be given more than once, and --debug, which shows the traceback of an "
    "error."
)
"""Part of the help of every command: the options that `recall.cli` reads for all of them."""
_NO = "no-"
_ANY_NUMBER = sys.maxsize


def arguments_of(
    declared: Callable[..., Any], words: Sequence[str], command: str
) -> dict[str, Any]:
    """Return the arguments of a function or a dataclass, by name, as `words` give them.

    Parameters without a default take the words that belong to no option, and must have some unless
    their type says that they may be None.
    """
    whole: Any = typing.get_type_hints(declared).get("options")
    if whole is not None:  # the dataclass of a command with many options
        return {"options": whole(**arguments_of(whole, words, command))}
    kinds = typing.get_type_hints(declared, include_extras=True)
    parameters = inspect.signature(declared).parameters
    options = [name for name, each in parameters.items() if each.default is not each.empty]
    given, free = split_options(words, {name: _most_words(kinds[name]) for name in options})
    usage = f"`{command} --help` shows all options"
    for name in given:
        if name not in options:
            raise UnknownNameError("option", spelt(name), map(spelt, options), f"{usage}.")
    values = {name: from_plain(kinds[name], own, spelt(name)) for name, own in given.items()}
    for name in (name for name in parameters if name not in options):
        count = _most_words(kinds[name])
        own, free = Words(free[:count]), free[count:]
        optional = types.NoneType in typing.get_args(typing.get_args(kinds[name])[0])
        if not own and not optional:
            raise BadValueError(f"{name.upper()} is missing; {usage}")
        values[name] = from_plain(kinds[name], own, name) if own else None
    if free:
        raise BadValueError(f"unexpected argument {free[0]!r}; {usage}")
    return values


def _most_words(kind: Any) -> int:
    """Return how many words a value of this type has at most."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Annotated, typing.Union, types.UnionType):
        return _most_words(arguments[0])
    if origin is tuple:
        return _ANY_NUMBER if arguments[-1] is ... else len(arguments)
    return 0 if kind is bool else 1


def split_options(
    words: Sequence[str], most: Mapping[str, int]
) -> tuple[dict[str, Words], list[str]]:
    """Return the words of each option, by its name with underscores, and the words of none.

    `--hidden 64 64` and `--hidden=64` give words, `--rehearse` gives none and `--no-rehearse` is
    `--rehearse false`. An option takes the words up to the next one, but no more than `most` says.
    Raises BadValueError if an option is given twice with different words.
    """
    pieces: list[list[str]] = [[""]]
    for word in words:
        if word.startswith("--"):
            pieces.append([word])
        else:
            pieces[-1].append(word)
    (_, *free), *options = pieces
    found: dict[str, Words] = {}
    for option, *own in options:
        written, equals, joined = option.removeprefix("--").partition("=")
        *groups, last = written.replace("_", "-").split(".")
        name = ".".join([*groups, last]).replace("-", "_")
        positive = ".".join([*groups, last.removeprefix(_NO)]).replace("-", "_")
        count = most.get(name, _ANY_NUMBER)
        if equals:
            own, count = [joined, *own], max(count, 1)
        elif positive != name and not most.get(positive):
            name, own, count = positive, ["false", *own], 1
        value = Words(own[:count])
        free += own[count:]
        if found.setdefault(name, value) != value:
            raise BadValueError(
                f"option {spelt(name)!r} is given twice, with {found[name]!r} and {value!r}; give "
                "it once"
            )
    return found, free


def values_by_name(option: str, words: Sequence[str]) -> dict[str, str]:
    """Return the values in the words of an option that are like NAME=VALUE."""
    found: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if not (name and value):
            raise BadValueError(f"{option} {word}: give NAME=VALUE, such as learning_rate=3e-4")
        if found.setdefault(name, value) != value:
            raise BadValueError(
                f"{option} gives {name} twice, as {found[name]} and {value}; give it once, several "
                "values joined by commas"
            )
    return found


def spelt(name: str) -> str:
    """Return an option as it is written."""
    return f"--{name.replace('_', '-')}"
