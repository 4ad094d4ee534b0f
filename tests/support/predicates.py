"""Random predicates over the columns of tests.support.contingency, as SQL text."""

import random

from tests.support.contingency import STRINGS

_ATOMS = (
    "age {op} {age}",
    "age BETWEEN {age} AND {age}",
    "age NOT BETWEEN {age} AND {age}",
    "age IN ({age}, {age}, {age})",
    "age NOT IN ({age}, NULL)",
    "age % 2 = {bit}",
    "age + kids * 2 {op} {age}",
    "kids {op} {bit}",
    "kids = age - {age}",
    "sex = {sex}",
    "sex <> {sex}",
    "sex IN ({sex}, {city})",
    "lower(sex) = 'male'",
    "sex LIKE '%ale'",
    "city LIKE '%o%'",
    "city ILIKE 'B_nn'",
    "city NOT LIKE '%''%'",
    "length(city) > {bit}",
    "city ~ '[A-Z].*'",
    "city = {city}",
    "coalesce(city, sex) = {sex}",
    "city < sex",
    "hours {op} {hours}",
    "hours / 2 {op} {hours}",
    "hours IS NULL",
    "hours BETWEEN {hours} AND 20",
    "hours::INT % 2 = {bit}",
    "round(hours) = {hours}",
    "joined {op} DATE '2020-01-01'",
    "joined >= '2019-12-01'",
    "year(joined) = 2019",
    "EXTRACT(month FROM joined) {op} {bit}",
    "joined + INTERVAL 1 MONTH > DATE '2020-01-01'",
    "date_trunc('quarter', joined) = DATE '2019-10-01'",
    "member",
    "NOT member",
    "member IS TRUE",
    "member IS NOT TRUE",
    "member IS NOT DISTINCT FROM (sex = {sex})",
    "age IS NOT NULL",
    "age IS DISTINCT FROM {age}",
    "CASE WHEN member THEN age > {age} ELSE sex = {sex} END",
    "CASE sex WHEN 'Male' THEN kids WHEN 'Female' THEN age - 17 END {op} {bit}",
    "nullif(kids, {bit}) IS NULL",
    "greatest(age, kids) {op} {age}",
    "if(member, kids, age) {op} {bit}",
    "TRUE",
    "FALSE",
    "NULL",
    "1 = 0",
)
_TEXT = (
    "name = {s}",
    "{s} = name",
    "name <> {s}",
    "name != {s}",
    "name IN ({s}, {s}, {s})",
    "name NOT IN ({s}, {s})",
    "name IN ({s}, NULL)",
    "name NOT IN ({s}, NULL)",
    "name IS NULL",
    "name IS NOT NULL",
    "name IS NOT DISTINCT FROM {s}",
    "name IS DISTINCT FROM {s}",
    "name IS DISTINCT FROM NULL",
    "name = NULL",
    "pet = {s}",
    "pet IN ({s}, {s})",
    "pet NOT IN ({s})",
    "pet IS NULL",
    "(name = {s}) IS TRUE",
    "CASE WHEN name = {s} THEN age > {age} ELSE pet <> {s} END",
    "(name = {s}) = member",
    "(name IN ({s}, {s}) AND name LIKE '%b')",
    "(name IN ({s}, {s}) AND length(name) > {bit})",
    "(name IN ({s}, {s}) AND pet = {s} AND name = pet)",
)


def _string(s: str) -> str:
    return "'" + s.replace("'", "''") + "'"


def atom(rng: random.Random, *, text: bool) -> str:
    """One atomic predicate; ``text``: it may concern the text columns."""
    template = rng.choice(_TEXT if text and rng.random() < 0.5 else _ATOMS)
    while "{" in template:
        for key, value in (
            ("{op}", rng.choice(("=", "<>", "<", "<=", ">", ">="))),
            ("{age}", str(rng.randint(16, 26))),
            ("{bit}", str(rng.randint(0, 2))),
            ("{sex}", _string(rng.choice(("Male", "Female", "male", "x")))),
            ("{city}", _string(rng.choice(("Rome", "Bonn", "O'Hare", "", "x")))),
            ("{hours}", str(rng.choice((0, 5.25, 10.5, 20, 21.0)))),
            ("{s}", _string(rng.choice((*STRINGS, "absent")))),
        ):
            template = template.replace(key, value, 1)
    return template


def predicate(rng: random.Random, depth: int = 3, *, text: bool = True) -> str:
    """A random predicate of AND, OR, NOT, parentheses and comments over atoms."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return atom(rng, text=text)
    if kind < 0.35:
        return f"NOT ({predicate(rng, depth - 1, text=text)})"
    if kind < 0.4:
        return f"NOT {atom(rng, text=text)}"
    word = rng.choice((" AND ", " AND ", " OR ", " and/* both */"))
    parts = [predicate(rng, depth - 1, text=text) for _ in range(rng.randint(2, 3))]
    joined = word.join(parts)
    return f"({joined})" if rng.random() < 0.7 else joined
