"""Other spellings of what is answered, brought into one: names between back-ticks, words between arguments, row values.

Tools write SQL of their own dialects, and DuckDB reads most of it. What only looks different is made equal before it is
bound, so that the rest of the front end knows one form of each. Nothing here decides what is answered.
"""

import re

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from dpsql.errors import UnsupportedQuery
from dpsql.sql.text.limits import MAX_TEXT_BYTES
from dpsql.sql.text.position import line_column, refusal

DATABASE, SCHEMA = "memory", "main"
"""What tools are told that tables stand in, and may write in front of their names."""
MAX_ROW_NODES = 5_000
"""Rows of a list that a row of values is looked up in, times its nodes: each becomes a condition of its own."""

_KEPT = re.compile(
    r"'(?:[^']|'')*+(?:'|\Z)|\"(?:[^\"]|\"\")*+(?:\"|\Z)|--[^\n]*+|/\*.*?(?:\*/|\Z)|\$(\w*+)\$(?:.*?\$\1\$|.*\Z)"
    r"|`([^`\"]++)`",
    re.DOTALL,
)
_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
_NAMES = {"current_database": DATABASE, "current_catalog": DATABASE, "current_schema": SCHEMA}
_QUANTILES = frozenset({"approx_quantile", "quantile", "quantile_cont", "quantile_disc"})
_DIFFERENCES = frozenset({"date_diff", "datediff"})
_IN_A_YEAR = {"year": 0, "quarter": 4, "month": 12}
_LISTS = frozenset({"list_contains", "list_has", "array_contains", "array_has"})


def quoted_names(text: str) -> str:
    """The text with names between double quotes in place of back-ticks, each character at its place.

    >>> quoted_names("SELECT `a b`, '`c`' FROM `t`")
    'SELECT "a b", \\'`c`\\' FROM "t"'
    """
    if "`" not in text or len(text) > MAX_TEXT_BYTES:
        return text
    return _KEPT.sub(lambda m: m[0] if m[2] is None else f'"{m[2]}"', text)


def with_commas(text: str, tokens: list[Token]) -> list[Token]:
    """The tokens with commas for FROM and FOR inside SUBSTRING and TRIM, LIMIT for FETCH, and in parentheses typed
    strings where a cast follows and conditions in sets of groups.

    Raises UnsupportedQuery for TOP, LIMIT with two numbers and OVERLAY, for which DuckDB has other words.
    """
    words = [t.text.upper() if t.token_type != TokenType.STRING else "" for t in tokens]
    _refuse_others(text, tokens, words)
    out = list(tokens)
    for i in reversed(range(len(out) - 1)):  # inner calls first: theirs are then no longer FROM
        called = out[i + 1].token_type == TokenType.L_PAREN and out[i].token_type != TokenType.IDENTIFIER
        word = out[i].text.upper()
        if called and word == "SUBSTRING":
            _cut(out, i)
        elif called and word == "TRIM":
            _trim(out, i)
        elif word == "FETCH" and out[i].token_type == TokenType.FETCH:
            _fetch(out, i)
        elif called and out[i].token_type in _SETS:
            _group(out, i + 1)
        elif out[i].token_type == TokenType.STRING and out[i + 1].token_type == TokenType.DCOLON:
            _typed(out, i)
    _sort_pivot(out)
    return out


def plain(text: str, tree: exp.Expr) -> None:
    """Row values compared column by column, ``= ANY`` and lookups in a list as IN, POSITION as strpos; in place."""
    for node in reversed(list(tree.walk(bfs=True))):
        made = _plain(text, node)
        if made is not None and node.parent is not None:
            node.replace(made)


def _plain(text: str, node: exp.Expr) -> exp.Expr | None:
    match node:
        case exp.EQ(args={"this": exp.Tuple() as one, "expression": exp.Tuple() as other}):
            return _equal_rows(one, other)
        case exp.NEQ(args={"this": exp.Tuple() as one, "expression": exp.Tuple() as other}):
            equal = _equal_rows(one, other)
            return None if equal is None else exp.Not(this=equal)
        case exp.In(args={"this": exp.Tuple() as row}) if not node.args.get("query"):
            return _row_in(text, node, row)
        case exp.EQ(args={"expression": exp.Any() as several}):
            return _among(node.this, several.this)
        case exp.Anonymous() if node.name.lower() in _LISTS and len(node.expressions) == 2:
            items = _items(node.expressions[0])
            return None if items is None else _in(node.expressions[1], expressions=items)
        case exp.Anonymous() if node.name.lower() in _QUANTILES and len(node.expressions) == 2:
            return _each(node)
        case exp.Anonymous(args={"expressions": [exp.Distinct(expressions=[exp.Tuple() as row])]}) if (
            node.name.lower() == "count" and len(row.expressions) > 1
        ):
            return _count_rows(node, row)
        case exp.Anonymous() if node.name.lower() in _NAMES and not node.expressions:
            return _named(node)
        case exp.Anonymous() if node.name.lower() == "age" and len(node.expressions) == 1:
            midnight = exp.Cast(this=exp.CurrentDate(), to=exp.DataType.build("TIMESTAMP"))
            return _call(node.name, midnight, node.expressions[0])
        case exp.Anonymous() if node.name.lower() in _DIFFERENCES and len(node.expressions) == 3:
            return _boundaries(node)
        case exp.Anonymous() if node.name.lower() == "position" and len(node.expressions) == 1:
            return _position(node.expressions[0])
    return None


def _boundaries(node: exp.Anonymous) -> exp.Expr | None:
    """Years, quarters or months between two columns as a difference of parts of each: a date at a time is enough."""
    part, first, last = node.expressions
    name = part.name.lower().removesuffix("s") if isinstance(part, exp.Literal) and part.is_string else ""
    columns = [{c.sql() for c in side.find_all(exp.Column)} for side in (first, last)]
    if name not in _IN_A_YEAR or not all(columns) or columns[0] == columns[1]:
        return None

    def number(side: exp.Expr) -> exp.Expr:
        years, times = _call("year", side.copy()), _IN_A_YEAR[name]
        if not times:
            return years
        whole = exp.Mul(this=years, expression=exp.Literal.number(times))
        return exp.paren(exp.Add(this=whole, expression=_call(name, side.copy())))

    made = exp.paren(exp.Sub(this=number(last), expression=number(first)))
    if not isinstance(node.parent, exp.Select) or node.arg_key != "expressions":
        return made
    return exp.alias_(made, node.sql("duckdb", normalize_functions="lower"), quoted=True)


def _each(node: exp.Anonymous) -> exp.Expr | None:
    """Several quantiles of one column as a list of calls."""
    value, items = node.expressions[0], _items(node.expressions[1])
    if items is None:
        return None
    calls = exp.Array(expressions=[exp.Anonymous(this=node.name, expressions=[value.copy(), i]) for i in items])
    if not isinstance(node.parent, exp.Select) or node.arg_key != "expressions" or not isinstance(value, exp.Column):
        return calls
    levels = ", ".join(i.sql("duckdb") for i in items)
    return exp.alias_(calls, f"{node.name.lower()}({value.sql('duckdb')}, list_value({levels}))", quoted=True)


def _count_rows(node: exp.Anonymous, row: exp.Tuple) -> exp.Expr:
    """Different rows of values as different texts of them: of each its length, a colon, itself; of NULL the colon."""
    parts: list[exp.Expr] = []
    for value in row.expressions:
        text = exp.Cast(this=value.copy(), to=exp.DataType.build("VARCHAR"))
        length = exp.Cast(this=_call("length", text), to=exp.DataType.build("VARCHAR"))
        parts += [length, exp.Literal.string(":"), text.copy()]
    made = _call(node.name, exp.Distinct(expressions=[_call("concat", *parts)]))
    if not isinstance(node.parent, exp.Select) or node.arg_key != "expressions":
        return made
    shown = ", ".join(v.sql("duckdb") for v in row.expressions)
    return exp.alias_(made, f'{node.name.lower()}(DISTINCT "row"({shown}))', quoted=True)


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _named(node: exp.Anonymous) -> exp.Expr:
    """The database or schema that all tables are said to stand in; in a select list under the function's name."""
    name = exp.Literal.string(_NAMES[node.name.lower()])
    shown = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    return exp.alias_(name, f"{node.name.lower()}()", quoted=True) if shown else name


def _in(this: exp.Expr, **args: object) -> exp.Expr:
    return exp.Paren(this=exp.In(this=this.copy(), **args))


def _equal_rows(one: exp.Tuple, other: exp.Tuple) -> exp.Expr | None:
    """DuckDB compares rows value by value, and NULL equals NULL there."""
    pairs = list(zip(one.expressions, other.expressions, strict=False))
    if len(one.expressions) != len(other.expressions) or len(pairs) < 2:
        return None
    parts = [exp.NullSafeEQ(this=exp.paren(a), expression=exp.paren(b)) for a, b in pairs]
    return exp.Paren(this=exp.and_(*parts, wrap=False, copy=False))


def _row_in(text: str, node: exp.In, row: exp.Tuple) -> exp.Expr | None:
    rows, size = node.expressions, sum(1 for _ in row.walk())
    if len(rows) * size > MAX_ROW_NODES:
        raise refusal(text, node, "more rows of values in a list than are compared one by one", "ask in several parts")
    if len(rows) > 1 and row.find(exp.Placeholder, exp.Parameter) is not None:
        return None
    found = [_equal_rows(row, r) if isinstance(r, exp.Tuple) else None for r in rows]
    parts = [f for f in found if f is not None]
    return exp.Paren(this=exp.or_(*parts, wrap=False, copy=False)) if parts and len(parts) == len(rows) else None


def _among(this: exp.Expr, several: exp.Expr) -> exp.Expr | None:
    while isinstance(several, exp.Paren):
        several = several.this
    if isinstance(several, exp.Query):
        query = several if isinstance(several, exp.Subquery) else exp.Subquery(this=several.copy())
        return _in(this, query=query.copy())
    items = _items(several)
    return None if items is None else _in(this, expressions=items)


def _items(node: exp.Expr) -> list[exp.Expr] | None:
    """The literals of a list: what may be NULL is another matter to IN than to a lookup in a list."""
    if not isinstance(node, exp.Array) or not node.expressions:
        return None
    items = [n.this if isinstance(n, exp.Neg) else n for n in node.expressions]
    return [n.copy() for n in node.expressions] if all(isinstance(n, exp.Literal) for n in items) else None


def _position(inner: exp.Expr) -> exp.Expr | None:
    if not isinstance(inner, exp.In):
        return None
    within = inner.args.get("field") or (inner.expressions[0] if len(inner.expressions) == 1 else None)
    if within is None or inner.args.get("query"):
        return None
    return exp.Anonymous(this="strpos", expressions=[within.copy(), inner.this.copy()])


_STARTS = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.VALUES, TokenType.PIVOT, TokenType.UNPIVOT})
"""What a query begins with, behind its CTEs."""
_ENDS = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.R_PAREN}
"""What an operand may end with: a word behind it is no name."""


def _refuse_others(text: str, tokens: list[Token], words: list[str]) -> None:
    for i, word in enumerate(words):
        if word == "TOP" and i and words[i - 1] in ("SELECT", "DISTINCT", "ALL"):
            number = [t for t in tokens[i + 1 : i + 3] if t.token_type == TokenType.NUMBER]
            behind = tokens[i + 1].token_type if i + 1 < len(tokens) else None
            if number and behind in (TokenType.NUMBER, TokenType.L_PAREN):
                raise _said(text, tokens[i], "TOP is not answered", f"write LIMIT {number[0].text} at the end")
        if word == "PLACING" and "OVERLAY" in words[:i] and tokens[i - 1].token_type in _ENDS:
            reason, hint = "OVERLAY is not answered", "write substr(text, 1, 2) || 'new' || substr(text, 5)"
            raise _said(text, tokens[i], reason, hint)
        if word == "LIMIT" and [t.token_type for t in tokens[i + 1 : i + 4]] == [
            TokenType.NUMBER,
            TokenType.COMMA,
            TokenType.NUMBER,
        ]:
            skipped, rows = tokens[i + 1].text, tokens[i + 3].text
            raise _said(text, tokens[i], "LIMIT takes one number", f"write LIMIT {rows} OFFSET {skipped}")


def _said(text: str, token: Token, reason: str, hint: str) -> UnsupportedQuery:
    line, column = line_column(text, token.start)
    return UnsupportedQuery(reason, line=line, column=column, hint=hint)


def _close(tokens: list[Token], start: int) -> int | None:
    """Where the parenthesis closes that opens at ``start``."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i].token_type == TokenType.L_PAREN) - (tokens[i].token_type == TokenType.R_PAREN)
        if depth == 0:
            return i
    return None


def _at_this_level(tokens: list[Token], start: int, end: int, kind: TokenType) -> int | None:
    """The only token of a kind between two parentheses, not inside others."""
    depth, found = 0, list[int]()
    for i in range(start + 1, end):
        depth += (tokens[i].token_type == TokenType.L_PAREN) - (tokens[i].token_type == TokenType.R_PAREN)
        if depth == 0 and tokens[i].token_type == kind:
            found.append(i)
    return found[0] if len(found) == 1 else None


def _as(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _cut(tokens: list[Token], name: int) -> None:
    """``(x FROM 1 FOR 2)`` as ``(x, 1, 2)``."""
    end = _close(tokens, name + 1)
    start = None if end is None else _at_this_level(tokens, name + 1, end, TokenType.FROM)
    if end is None or start is None:
        return
    length = _at_this_level(tokens, name + 1, end, TokenType.FOR)
    if length is not None and length < start:
        return
    for place in (start, length):
        if place is not None:
            tokens[place] = _as(tokens[place], TokenType.COMMA, ",")


def _trim(tokens: list[Token], name: int) -> None:
    """``(BOTH 'x' FROM y)`` as ``(y, 'x')``."""
    end = _close(tokens, name + 1)
    middle = None if end is None else _at_this_level(tokens, name + 1, end, TokenType.FROM)
    if end is None or middle is None:
        return
    side = _TRIMS.get(tokens[name + 2].text.upper()) if tokens[name + 2].token_type != TokenType.STRING else None
    characters = tokens[name + (2 if side is None else 3) : middle]
    comma = [_as(tokens[middle], TokenType.COMMA, ",")] if characters else []
    tokens[name] = _as(tokens[name], tokens[name].token_type, side or "trim")
    tokens[name + 2 : end] = [*tokens[middle + 1 : end], *comma, *characters]


def _typed(tokens: list[Token], string: int) -> None:
    """``DATE 'x'::VARCHAR`` as ``(DATE 'x')::VARCHAR``: sqlglot would cast the string first."""
    start = string - 1
    if tokens[start].token_type == TokenType.R_PAREN:  # as in DECIMAL(4, 1)
        opened = (i for i in (string - 3, string - 5) if i > 0 and tokens[i].token_type == TokenType.L_PAREN)
        start = next(opened, 0) - 1
    if start >= 0 and tokens[start].token_type in DuckDB.Parser.TYPE_TOKENS:
        tokens.insert(string + 1, _as(tokens[string], TokenType.R_PAREN, ")"))
        tokens.insert(start, _as(tokens[start], TokenType.L_PAREN, "("))


_OPENERS = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSERS = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_SETS = frozenset({TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS})
_OF_CONDITIONS = frozenset(
    {
        *DuckDB.Parser.EQUALITY, *DuckDB.Parser.COMPARISON, *DuckDB.Parser.RANGE_PARSERS,
        *DuckDB.Parser.CONJUNCTION, *DuckDB.Parser.DISJUNCTION,
    }
)  # fmt: skip


def _group(tokens: list[Token], opened: int) -> None:
    """``ROLLUP (a, b > 0)`` as ``ROLLUP (a, (b > 0))``: sqlglot reads no conditions there."""
    end = _close(tokens, opened)
    if end is None:
        return
    depth, last, holds = 0, end, False
    for i in range(end - 1, opened - 1, -1):
        kind = tokens[i].token_type
        if i == opened or (depth == 0 and kind == TokenType.COMMA):
            if holds:
                tokens.insert(last, _as(tokens[last - 1], TokenType.R_PAREN, ")"))
                tokens.insert(i + 1, _as(tokens[i + 1], TokenType.L_PAREN, "("))
            last, holds = i, False
        depth += (kind in _CLOSERS) - (kind in _OPENERS)
        holds = holds or (depth == 0 and kind in _OF_CONDITIONS)


def _sort_pivot(tokens: list[Token]) -> None:
    """``PIVOT ... ORDER BY x LIMIT 5`` as ``FROM (PIVOT ...) ORDER BY x LIMIT 5``."""
    depth, start = 0, None
    for i, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth:
            continue
        if start is None and token.token_type in _STARTS:
            start = i
            if token.token_type not in (TokenType.PIVOT, TokenType.UNPIVOT):
                return
        elif start is not None and token.token_type in (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET):
            around = [(TokenType.FROM, "FROM"), (TokenType.L_PAREN, "(")]
            tokens.insert(i, _as(token, TokenType.R_PAREN, ")"))
            tokens[start:start] = [_as(tokens[start], kind, word) for kind, word in around]
            return


def _fetch(tokens: list[Token], start: int) -> None:
    """``FETCH NEXT 5 ROWS ONLY`` as ``LIMIT 5``, one row where no number stands."""
    behind = [t.text.upper() for t in tokens[start + 1 : start + 5]]
    numbered = len(behind) == 4 and tokens[start + 2].token_type == TokenType.NUMBER
    form = [behind[0], *behind[2:]] if numbered else behind[:3]
    if len(form) == 3 and form[0] in ("FIRST", "NEXT") and form[1] in ("ROW", "ROWS") and form[2] == "ONLY":
        count = tokens[start + 2] if numbered else _as(tokens[start + 1], TokenType.NUMBER, "1")
        limit = _as(tokens[start], TokenType.LIMIT, "LIMIT")
        tokens[start : start + (5 if numbered else 4)] = [limit, count]
