"""What differs between the rules that a ledger was created with and those it is opened with. Public.

An owner whose ledger is refused should not have to compare two files: the message names the keys.
"""

from itertools import zip_longest

from dpsql.shortened import shortened

_SHOWN = 3
_WIDTH = 60
_BEFORE = 12
"""Characters shown, at least, before two long values part."""


def rule_changes(before: str, after: str) -> tuple[str, ...]:
    """Keys of two TOML texts, one key in a line, that differ: what each was and what it is now; empty where none does.

    >>> rule_changes("[mechanism]\\nwarm_start = 0.9\\n", "[mechanism]\\nwarm_start = 0.96\\n")
    ('[mechanism] warm_start = 0.9 is now 0.96',)
    >>> rule_changes("[mechanism]\\nhard_rounds = 4\\n", "[mechanism]\\n")
    ('[mechanism] hard_rounds = 4 is gone',)
    >>> rule_changes("[columns]\\na = 1\\nb = 2\\n", "[columns]\\nb = 2\\na = 1\\n")
    ('[columns] a is now in another place',)
    """
    old, new = _values(before), _values(after)
    changes = [f"{_named(key, value)} is gone" for key, value in old.items() if key not in new]
    changes += [f"{_named(key, value)} is new" for key, value in new.items() if key not in old]
    changes += [_change(key, value, new[key]) for key, value in old.items() if new.get(key, value) != value]
    if not changes:
        moved = [key for key, other in zip(old, new, strict=True) if key != other]
        changes += [f"{_name(key)} is now in another place" for key in moved[:1]]
    more = len(changes) - _SHOWN
    return (*changes[:_SHOWN], f"and {more} more") if more > 0 else tuple(changes)


def _values(text: str) -> dict[tuple[str, str], str]:
    section, found = "", {}
    for line in text.split("\n"):
        if line.startswith("["):
            section = line
        elif line:
            key, _, value = line.partition(" = ")
            found[section, key] = value
    return found


def _change(key: tuple[str, str], was: str, now: str) -> str:
    if shortened(was, _WIDTH) == shortened(now, _WIDTH):
        was, now = _apart(was, now)
    return f"{_named(key, was)} is now {shortened(now, _WIDTH)}"


def _apart(one: str, other: str) -> tuple[str, str]:
    """Two texts that begin alike, from shortly before the first character in which they differ."""
    differ = next(i for i, (a, b) in enumerate(zip_longest(one, other)) if a != b)
    start = max(one.rfind(" ", 0, max(differ - _BEFORE, 0)) + 1, differ - 2 * _BEFORE)
    return f"...{one[start:]}", f"...{other[start:]}"


def _named(key: tuple[str, str], value: str) -> str:
    return f"{_name(key)} = {shortened(value, _WIDTH)}"


def _name(key: tuple[str, str]) -> str:
    return " ".join(part for part in key if part)
