"""What ``--option NAME=VALUE`` says to a method, read with words that say what else could be written. Public."""

from collections.abc import Mapping

from dpsql.errors import DataError


def word(options: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    """One of ``words``, the first where nothing is said.

    >>> word({"iterate": "last"}, "iterate", ("average", "last")), word({}, "iterate", ("average", "last"))
    ('last', 'average')
    """
    said = options.get(name, words[0])
    if said not in words:
        raise DataError(f"option {name} is {said!r}", hint=f"write {name}={'|'.join(words)}")
    return said


def whole(options: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most``."""
    said = options.get(name)
    if said is None:
        return default
    if not (said.isascii() and said.isdigit() and len(said) <= len(str(most)) and least <= int(said) <= most):
        raise DataError(f"option {name} is {said!r}", hint=f"write {name}=N with a whole number from {least} to {most}")
    return int(said)
