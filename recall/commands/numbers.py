"""Read numbers of the command line as settings are read: 1e6 is whole, NaN is no number."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from recall.errors import BadValueError, RecallError
from recall.settings.checked import Words, from_plain


def numbers_as_in_settings(
    command: Callable[..., Any], arguments: Sequence[str]
) -> ConstructorRegistry:
    """Return rules that read the numbers among the arguments of a command.

    tyro does not tell a rule which option it reads, so an error finds it in the arguments.
    """
    registry = ConstructorRegistry()

    @registry.primitive_rule
    def number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        kind: Any = info.type
        if kind not in (int, float):
            return None

        def read(words: list[str]) -> Any:
            try:
                return from_plain(kind, Words(words), _option(command, arguments, kind, words[0]))
            except BadValueError as error:
                # Unlike a ValueError, which tyro would frame, this is printed in one line.
                raise RecallError(str(error)) from error

        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=kind.__name__.upper(),
            instance_from_str=read,
            is_instance=lambda value: isinstance(value, kind),
            str_from_instance=lambda value: [str(value)],
        )

    return registry


def _option(command: Callable[..., Any], arguments: Sequence[str], kind: type, word: str) -> str:
    """Return the first option that takes numbers of this kind and is given this word."""
    taking = set(_options_taking(kind, typing.get_type_hints(command)))
    options = (option for option, value in _given(arguments) if value == word and option in taking)
    return next(options, "an option's value")


def _given(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each word that follows an option, after the option's name as its help spells it."""
    option = ""
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            option = name.replace("_", "-")
            if equals:
                yield option, value
        else:
            yield option, argument


def _options_taking(kind: type, hints: dict[str, Any]) -> Iterator[str]:
    """Yield the options whose values hold numbers of this kind, from the types of parameters."""
    for name, hint in hints.items():
        if inspect.isclass(hint) and dataclasses.is_dataclass(hint):
            yield from _options_taking(kind, typing.get_type_hints(hint))
        elif kind in (hint, *typing.get_args(hint)):
            yield f"--{name.replace('_', '-')}"
