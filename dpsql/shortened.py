"""Texts as messages and notes show them: whole, or their beginning."""


def shortened(text: str, most: int) -> str:
    """``text``, or what of it fits before "..." into ``most`` characters.

    >>> shortened("abcdef", 6), shortened("abcdefg", 6)
    ('abcdef', 'abc...')
    """
    return text if len(text) <= most else text[: most - 3] + "..."
