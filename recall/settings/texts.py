"""Arguments that give one text or several."""

from collections.abc import Iterable

from recall.settings.checked import from_plain


def given_texts(value: object, name: str) -> tuple[str, ...]:
    """Return the texts that the argument `name` gives, whether it is one or several."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(from_plain(str, each, name) for each in value)
    return (from_plain(str, value, name),)
