"""What a draft says of the privacy unit: the column that tells people apart, and those that only number rows.

The hardest mistake of a policy to see later is a unit that is missing: then a person with many rows has a part of the
promise for each. An order's number is no help there, and the customer's is.
"""

import re
from collections.abc import Sequence

from dpsql.dialect.types import INTEGERS
from dpsql.domain import looks_like_identifier
from dpsql.planning.advice import about
from dpsql.policy_file.schema import ColumnSchema, RowsEach, TableSchema
from dpsql.policy_file.toml_table import quoted

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PEOPLE = re.compile(
    "account|applicant|author|borrower|buyer|child|citizen|claimant|client|contact|customer|donor|driver|email|employee|"
    "family|guest|household|individual|login|member|owner|participant|passenger|patient|payer|person|phone|player|pupil|"
    "recipient|renter|resident|respondent|rider|seller|sender|ssn|staff|student|subject|subscriber|taxpayer|teacher|"
    "tenant|user|username|victim|visitor|voter|worker"
)
_OF_PEOPLE = re.compile(
    "age|ages|birth|birthdate|birthday|born|children|diagnosis|disease|dob|families|forename|gender|people|races?|"
    "religion|salary|sex|surname|wages?"
)
_TYPES = frozenset([*INTEGERS, "VARCHAR", "UUID", "DECIMAL"])
_FROM_DATA = "(FROM THE DATA)"
_STEPS = (1, 2, 5)
_SUGGESTED_ROWS = 3
FEW = 20
"""Values of a column: with fewer, of many rows each, a name such as ``household`` is that of a size or a kind."""
MANY_ROWS = 1_000
"""Rows that 95 % of so few values have at most: with more they are not taken for people."""


def unit_lines(table: TableSchema) -> list[str]:
    """The lines on the unit: declared where rows were looked at and one column repeats people, else a suggestion.

    >>> ids = (ColumnSchema("order_id", "BIGINT", is_key=True), ColumnSchema("customer_id", "BIGINT"))
    >>> print(*unit_lines(TableSchema("orders", ids)), sep="\\n")
    # CHECK: is this one row per person? If not, name the column that tells the person:
    # unit = "customer_id"
    # max_rows_per_unit = 3
    """
    found = declared_unit(table)
    if found is not None and found.rows_each is not None:
        return [
            f"# CHECK: {quoted(found.name)} seems to tell people apart: {_spread(found.rows_each)} {_FROM_DATA}",
            f"unit = {quoted(found.name)}",
            f"max_rows_per_unit = {rows_of_each(found)}  "
            "# CHECK: rows kept of each person; more of them need more noise",
        ]
    candidates = _candidates(table)
    person = next((c.name for c in candidates if c.is_distinct and _names_people(c.name)), None)
    each = "" if person is None else f", as {quoted(person)} says"
    ask = f"# CHECK: is this one row per person{each}? If not, name the column that tells the person:"
    seen = [c for c in candidates if c.rows_each is not None and not c.is_distinct]
    told = [f"# {quoted(c.name)} has {_spread(c.rows_each)} {_FROM_DATA}" for c in seen if c.rows_each is not None]
    open_ones = [c for c in candidates if not c.is_distinct]
    unit = open_ones[0].name if open_ones else "owner_id"
    return [ask, *told, f"# unit = {quoted(unit)}", f"# max_rows_per_unit = {_SUGGESTED_ROWS}"]


def declared_unit(table: TableSchema) -> ColumnSchema | None:
    """The column that a draft declares as the unit: of those named after people the one with most values, if some of
    these have several rows. ``None`` where no row was looked at.

    >>> sizes = ColumnSchema("household", "TINYINT", rows_each=RowsEach(300_000, 9, 105_000, 105_000))
    >>> declared_unit(TableSchema("survey", (sizes,))) is None
    True
    """
    found = [c for c in people_columns(table) if c.rows_each is not None and c.rows_each.most > 1 and not _is_kind(c)]
    return max(found, key=lambda c: c.rows_each.values if c.rows_each is not None else 0, default=None)


def left_out(table: TableSchema) -> dict[str, str]:
    """Columns that a draft leaves out, and why: the unit itself, and identifiers that differ in every row."""
    unit = declared_unit(table)
    found = {c.name: "different in every row: nothing to count" for c in _candidates(table) if c.is_distinct}
    return found if unit is None else found | {unit.name: "the unit, which needs no line of its own"}


def may_tell_people(column: ColumnSchema) -> bool:
    """Whether a column may be a unit, by its name and its type."""
    named = looks_like_identifier(column.name) or _names_people(column.name)
    return named and column.name.isprintable() and column.sql_type.upper().split("(")[0] in _TYPES


def people_columns(table: TableSchema) -> list[ColumnSchema]:
    """The columns that may tell people apart by a name that speaks of people."""
    return [c for c in _candidates(table) if _names_people(c.name)]


def rows_of_each(unit: ColumnSchema) -> int:
    """The ``max_rows_per_unit`` that a draft proposes."""
    return _SUGGESTED_ROWS if unit.rows_each is None else _rounded_up(unit.rows_each.usual)


def speaks_of_people(name: str) -> bool:
    """Whether a word of a name means people or what only people have: a wider net than that for units.

    >>> [n for n in ("patients", "birth_date", "customer_segment", "zones", "borough") if speaks_of_people(n)]
    ['patients', 'birth_date', 'customer_segment']
    """
    return any(
        _PEOPLE.fullmatch(word) or _PEOPLE.fullmatch(word.removesuffix("s")) or _OF_PEOPLE.fullmatch(word)
        for word in _words(name)
    )


def _is_kind(column: ColumnSchema) -> bool:
    """Whether a column that is no identifier by its name has too few values, of too many rows each, to tell people."""
    each = column.rows_each
    few = each is not None and each.values < FEW and each.usual > MANY_ROWS
    return few and not looks_like_identifier(column.name)


def _candidates(table: TableSchema) -> list[ColumnSchema]:
    """Columns that may tell people apart, the likeliest first: by their names and by what is known of their values."""
    return sorted(
        [c for c in table.columns if may_tell_people(c)],
        key=lambda c: (c.is_distinct, not _names_people(c.name), _numbers_rows(table.name, c.name)),
    )


def _names_people(name: str) -> bool:
    """Whether a name speaks of people, and of nothing but their identifier.

    >>> [n for n in ("customer_id", "userId", "person", "user_agent", "order_id", "email") if _names_people(n)]
    ['customer_id', 'userId', 'person', 'email']
    """
    words = _words(name)
    return any(map(_PEOPLE.fullmatch, words)) and (looks_like_identifier(name) or len(words) == 1)


def _numbers_rows(table: str, column: str) -> bool:
    """Whether an identifier is the row's own, by its name: ``id``, or that of the table in the singular."""
    of = [word for word in _words(column) if not looks_like_identifier(word)]
    return not of or (len(of) == 1 and bool(_words(table)) and _words(table)[-1].startswith(of[0][:-1]))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _spread(seen: RowsEach) -> str:
    """Rounded: the comment is for the owner, and the file may be handed on."""
    values, usual, most = (_rounded_up(number) for number in (seen.values, seen.usual, seen.most))
    of = f"up to {values:,} values in about {about(seen.rows):,} rows"
    return f"{of}; 95 % have at most {usual:,} rows each, one up to {most:,}"


def _rounded_up(number: int) -> int:
    """To 1, 2 or 5 times a power of ten.

    >>> [_rounded_up(n) for n in (1, 3, 5, 14, 1_999, 2_001)]
    [1, 5, 5, 20, 2000, 5000]
    """
    power = 1
    while power * 10 <= number:
        power *= 10
    steps: Sequence[int] = (*_STEPS, 10)
    return next((step * power for step in steps if step * power >= number), 10 * power)
