"""Which columns look as if they told people apart, by their names: one rule for notices and drafts. Public.

A table in which one person has many rows needs a privacy unit; a name is all that can be known of it without its rows.
"""

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_AT_THE_END = frozenset({"id", "ids", "uid", "uuid", "guid"})
_ANYWHERE = frozenset({"email", "imei", "login", "msisdn", "passport", "phone", "ssn", "username"})


def looks_like_identifier(name: str) -> bool:
    """Whether a column's name ends in ``id`` or the like as a word of its own, or names an address or number of people.

    >>> [n for n in ("customer_id", "userId", "ID", "paid", "email", "e_mail", "SSN") if looks_like_identifier(n)]
    ['customer_id', 'userId', 'ID', 'email', 'e_mail', 'SSN']
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    return words[-1] in _AT_THE_END or not _ANYWHERE.isdisjoint(words) or "e mail" in " ".join(words)
