"""Options of the command line as words by name, without knowing which options there are."""

from collections.abc import Sequence

from recall.errors import BadValueError
from recall.settings.checked import Words

PLUGIN_HELP = (
    "Every command also accepts --plugin MODULE_OR_FILE, which makes methods, worlds or figures of "
    "your own known and may be given more than once, and --debug, which shows the traceback of an "
    "error."
)
"""What the help of every command says of the options that `recall.cli` reads for all of them."""
_NO = "no-"


def read_options(arguments: Sequence[str]) -> dict[str, Words]:
    """Return the words that follow each option, by the option's name with underscores.

    `--hidden 64 64` and `--hidden=64` give words, `--rehearse` gives none and `--no-rehearse` is
    `--rehearse false`. Raises BadValueError if an option is given twice with different words.
    """
    found: dict[str, Words] = {}
    for option, words in _split(arguments):
        name, value = option.lstrip("-"), Words(words)
        *groups, last = name.replace("_", "-").split(".")
        if last.startswith(_NO) and not words:
            name, value = ".".join([*groups, last.removeprefix(_NO)]), Words(("false",))
        name = name.replace("-", "_")
        if found.setdefault(name, value) != value:
            raise BadValueError(
                f"option --{name.replace('_', '-')} is given twice, with {found[name]!r} and "
                f"{value!r}; give it once"
            )
    return found


def _split(arguments: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return each option with the words up to the next one."""
    options: list[tuple[str, list[str]]] = []
    for argument in arguments:
        if argument == "-h":
            options.append(("--help", []))
        elif argument.startswith("--"):
            name, equals, value = argument.partition("=")
            options.append((name, [value] if equals else []))
        elif options:
            options[-1][1].append(argument)
        else:
            raise BadValueError(
                f"unexpected argument {argument!r}: `recall train` takes options, such as "
                "--sequence cw3-1; `recall train --help` shows them"
            )
    return options
