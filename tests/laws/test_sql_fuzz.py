"""Damaged statements: whatever is sent, what comes back is a lowered statement or a dpsql error with a hint."""

import re
from collections import Counter

from dpsql.errors import Error
from tests.golden.test_sql_fixtures import ACCEPTED, REFUSED
from tests.support.contingency import seeded
from tests.support.exact import front_end

TEXTS = 4_000
_TOKEN = re.compile(r"'(?:[^']|'')*'|\w+|[^\s\w]|\s+")


def test_only_dpsql_errors() -> None:
    rng = seeded(1)
    front = front_end()
    statements = [c.sql for c in (*ACCEPTED, *ACCEPTED, *REFUSED)]
    words = [t for s in statements for t in _TOKEN.findall(s) if not t.isspace()]
    seen: Counter[str] = Counter()
    for _ in range(TEXTS):
        tokens = _TOKEN.findall(rng.choice(statements))
        for _ in range(rng.choice((1, 1, 2, 3))):
            at, kind = rng.randrange(len(tokens)), rng.random()
            if kind < 0.5:
                tokens[at] = rng.choice(words)
            elif kind < 0.7:
                tokens.insert(at, f" {rng.choice(words)} ")
            elif kind < 0.85 and len(tokens) > 1:
                del tokens[at]
            else:
                other = _TOKEN.findall(rng.choice(statements))
                start = rng.randrange(len(other))
                tokens[at:at] = [" ", *other[start : start + rng.randint(1, 6)], " "]
        text = "".join(tokens)
        try:
            front.lower(text)
            seen["accepted"] += 1
        except Error as error:
            assert error.hint, text
            assert error.__cause__ is None, text
            seen[type(error).__name__] += 1
    assert seen["accepted"] > TEXTS // 50
    assert seen["UnsupportedQuery"] > TEXTS // 50
    assert "InternalError" not in seen
