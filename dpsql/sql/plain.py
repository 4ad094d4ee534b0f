"""Plain counts, the most frequent statements, read without a syntax tree: COUNT(*) where simple conditions hold.

What is read here means the same on the ordinary way, which takes every statement that is not of exactly this form (and
every one that is refused, to say why): ``SELECT [g,] COUNT(*) [AS n] FROM t [WHERE c AND c ...] [GROUP BY g]``, where
each condition compares one column with literals of its own kind: strings by ``=`` or IN, numbers by ``=``, ``<`` and so
on, IN or BETWEEN. Everything here is public.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from dpsql.domain import (
    CategoryDomain,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
    Value,
    cell_values,
)
from dpsql.memo import Memo
from dpsql.policy import Policy
from dpsql.query import Factor, Form, LinearQuery, Term, Weights, linear_query
from dpsql.sql.blocks.naming import COUNT_STAR
from dpsql.sql.expressions import number_predicates, string_predicates
from dpsql.sql.expressions.bound import Listed, Outside
from dpsql.sql.expressions.number_predicates import Compared, number
from dpsql.sql.statement import Aggregate, Block, DirectColumn, Statement
from dpsql.sql.text.limits import MAX_CELLS
from dpsql.sql.text.parse import is_bare

RELEASED = "_released_1"
_LONGEST = 4096
_CACHED_CELLS = 1 << 20
_WORDS = 1024
_MOST_GROUPS = 256

_S = r"[ \t\r\n]+"
_O = r"[ \t\r\n]*"
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_STRING = r"'[^']*(?:''[^']*)*'"
_NUMBER = rf"-?{_O}[0-9]+(?:\.[0-9]+)?"
_FLAGS = re.IGNORECASE | re.ASCII  # without ASCII the letters of IN would match Turkish ones
_STATEMENT = re.compile(
    rf"{_O}SELECT{_S}(?:(?P<group>{_WORD}){_O},{_O})?COUNT{_O}\({_O}\*{_O}\)(?:{_S}AS{_S}(?P<alias>{_WORD}))?"
    rf"{_S}FROM{_S}(?P<table>{_WORD})"
    rf"(?:{_S}WHERE{_S}(?P<where>.*?))?(?:{_S}GROUP{_S}BY{_S}(?P<by>{_WORD}))?{_O};?{_O}",
    _FLAGS | re.DOTALL,
)
_CONDITION = re.compile(
    rf"(?P<all>(?P<column>{_WORD})(?:"
    rf"{_O}(?P<symbol><=|>=|<>|!=|=|<|>){_O}(?P<one>{_STRING}|{_NUMBER})"
    rf"|{_S}BETWEEN{_S}(?P<low>{_NUMBER}){_S}AND{_S}(?P<high>{_NUMBER})"
    rf"|{_S}IN{_O}\({_O}(?P<strings>{_STRING}(?:{_O},{_O}{_STRING})*){_O}\)"
    rf"|{_S}IN{_O}\({_O}(?P<numbers>{_NUMBER}(?:{_O},{_O}{_NUMBER})*){_O}\)"
    rf"))(?:(?P<end>\Z)|{_S}AND{_S})",
    _FLAGS,
)
_Condition = tuple[str, Weights, tuple[Factor, ...] | None]
"""A column, the weights of its cells, and the canonical factors of these: ``None`` when all are 0."""
_STRINGS, _NUMBERS = re.compile(_STRING), re.compile(_NUMBER)
_BLANK = re.compile(_O)


class PlainCounts:
    """Reads the plain counts of one policy; remembers what conditions select."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._conditions: Memo[_Condition] = Memo(_CACHED_CELLS)
        self._words: Memo[bool] = Memo(_WORDS)

    def lower(self, text: str) -> Statement | None:
        """The lowered statement; ``None`` for what the ordinary way has to read."""
        if len(text) > _LONGEST or "\0" in text or not (text.isascii() or _is_unicode(text)):
            return None
        match = _STATEMENT.fullmatch(text)
        table = None if match is None else self._policy.by_name.get(match["table"].lower())
        if match is None or table is None or not self._is_bare(match["table"]):
            return None
        alias = match["alias"]
        if alias is not None and not self._is_bare(alias):
            return None
        counted = DirectColumn(COUNT_STAR if alias is None else alias, "a0")
        found = self._where(table, match["where"])
        if found is None:
            return None
        if match["group"] is None and match["by"] is None:
            form = _form(table, _by_column(table, found).values())
            return None if form is None else _statement(text, table, None, ((),), (form,), (counted,))
        return self._grouped(text, table, match, found, counted)

    def _grouped(
        self, text: str, table: TableDomain, match: re.Match[str], found: Sequence[_Condition], counted: DirectColumn
    ) -> Statement | None:
        """A count for each value of one column that its conditions leave."""
        domain = None if match["group"] is None else self._finite(table, match["group"])
        if domain is None or match["by"] is None or match["by"].lower() != match["group"].lower():
            return None
        if domain.size > _MOST_GROUPS or not self._is_bare(match["by"]):
            return None
        conditions = _by_column(table, found)
        own = conditions.pop(domain.name, None)
        if any(factors is None for _, _, factors in conditions.values()):
            return _statement(text, table, domain, (), (), (counted,))
        groups, forms, values = [], [], cell_values(domain)
        for code in range(domain.size) if own is None else np.flatnonzero(own[1]).tolist():
            form = _form(table, [*conditions.values(), self._cell(table, domain, code)])
            if form is None:
                return None
            groups.append((values[code],))
            forms.append(form)
        return _statement(text, table, domain, tuple(groups), tuple(forms), (counted,))

    def _cell(self, table: TableDomain, domain: FiniteDomain, code: int) -> _Condition:
        """The condition that a column has one value."""
        key = (table.name, domain.name, code)
        known = self._conditions.get(key)
        if known is None:
            weights = np.zeros(domain.size, dtype=np.int64)
            weights[code] = 1
            known = (domain.name, weights, _factors(table, domain.name, weights))
            self._conditions.put(key, known, domain.size + 64)
        return known

    def _finite(self, table: TableDomain, word: str) -> FiniteDomain | None:
        """The finite column that a word names."""
        domain = table.by_name.get(word.lower())
        return None if domain is None or isinstance(domain, TextDomain) or not self._is_bare(word) else domain

    def _where(self, table: TableDomain, where: str | None) -> list[_Condition] | None:
        """What each condition selects."""
        out: list[_Condition] = []
        position, ended = 0, where is None
        while where is not None and not ended:
            match = _CONDITION.match(where, position)
            if match is None:
                return None
            key = (table.name, match["all"])
            known = self._conditions.get(key)
            if known is None:
                known = self._condition(table, match)
                if known is None:
                    return None
                self._conditions.put(key, known, known[1].size + 64)
            out.append(known)
            position, ended = match.end(), match["end"] is not None
        return out

    def _condition(self, table: TableDomain, match: re.Match[str]) -> _Condition | None:
        domain = self._finite(table, match["column"])
        if domain is None:
            return None
        weights = _strings(domain, match) if isinstance(domain, CategoryDomain) else _numbers(domain, match)
        return None if weights is None else (domain.name, weights, _factors(table, domain.name, weights))

    def _is_bare(self, word: str) -> bool:
        """Whether the word is a name wherever it stands here, and no keyword."""
        known = self._words.get(word)
        if known is None:
            known = is_bare(word)
            self._words.put(word, known)
        return known


def _by_column(table: TableDomain, conditions: Sequence[_Condition]) -> dict[str, _Condition]:
    """One condition for each column: the product of its conditions."""
    out: dict[str, _Condition] = {}
    for condition in conditions:
        column, weights, _ = condition
        if column in out:
            weights = out[column][1] * weights
            condition = column, weights, _factors(table, column, weights)
        out[column] = condition
    return out


def _form(table: TableDomain, conditions: Iterable[_Condition]) -> Form | None:
    """The product of conditions on different columns; ``None`` when it touches too many cells."""
    chosen: list[Factor] = []
    for _, _, factors in conditions:
        if factors is None:
            return Form(0.0)
        chosen += factors
    chosen.sort(key=lambda f: table.order[f.columns[0]])
    query = LinearQuery(table.name, tuple(chosen))
    return None if query.cells > MAX_CELLS else Form(0.0, (Term(1.0, query),))


def _statement(
    text: str,
    table: TableDomain,
    group: FiniteDomain | None,
    groups: tuple[tuple[Value, ...], ...],
    forms: tuple[Form, ...],
    columns: tuple[DirectColumn, ...],
) -> Statement:
    aggregate = Aggregate("a0", "BIGINT", forms)
    if group is None:
        return Statement(text, (Block(RELEASED, table.name, (), (), groups, (aggregate,)),), columns, None)
    block = Block(RELEASED, table.name, ("g0",), (group.sql_type,), groups, (aggregate,))
    return Statement(text, (block,), (DirectColumn(group.name, "g0"), *columns), None)


def _strings(domain: CategoryDomain, match: re.Match[str]) -> Weights | None:
    """Weights of a condition on a column of strings."""
    listed = match["strings"]
    if listed is None:
        if match["symbol"] != "=" or match["one"][0] != "'":
            return None
        listed = match["one"]
    wanted = frozenset(s[1:-1].replace("''", "'") for s in _STRINGS.findall(listed))
    condition = Listed(domain.name, wanted, Outside.TRUE, Outside.NULL, Outside.FALSE)
    return string_predicates.truth_table(condition, cell_values(domain))


def _numbers(domain: FiniteDomain, match: re.Match[str]) -> Weights | None:
    """Weights of a condition on a column of numbers."""
    if not isinstance(domain, IntegerDomain | NumberDomain):
        return None
    symbol, given = match["symbol"], [match["one"]]
    if match["low"] is not None:
        symbol, given = "BETWEEN", [match["low"], match["high"]]
    elif match["numbers"] is not None:
        symbol, given = "IN", _NUMBERS.findall(match["numbers"])
    if given[0] is None or given[0][0] == "'":
        return None
    values = []
    for text in given:
        value = number(_BLANK.sub("", text.lstrip("-")))
        if value is None:
            return None
        values.append(-value if text[0] == "-" else value)
    return number_predicates.truth_table(
        Compared(domain.name, "<>" if symbol == "!=" else symbol, tuple(values)), domain
    )


def _factors(table: TableDomain, column: str, weights: Weights) -> tuple[Factor, ...] | None:
    """The canonical factors of an indicator over one column; ``None`` when it is 0 everywhere."""
    weights.setflags(write=False)
    query = linear_query(table, [Factor((column,), weights)])
    return None if query is None else query.factors


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
