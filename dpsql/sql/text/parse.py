"""Text to syntax tree: DuckDB's dialect, one SELECT statement.

Functions stay what the analyst wrote: sqlglot's typed function nodes, which it would print under other names, are
avoided, so that DuckDB evaluates the very function that was named. Where sqlglot is compiled (``sqlglot[c]``), no class
can be derived from its parser; so the names that it knows are disguised among the tokens, and shown again in the tree.
"""

import re
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from dpsql.errors import SqlSyntaxError, UnsupportedQuery
from dpsql.sql.text.dollars import without_false_tags
from dpsql.sql.text.position import line_column, unclosed
from dpsql.sql.text.spellings import plain, with_commas


class Dialect(DuckDB):
    """DuckDB's dialect for statements with parameters."""

    class Tokenizer(DuckDB.Tokenizer):
        # "?::" is an operator elsewhere; here it is a parameter and a cast
        KEYWORDS: ClassVar[Any] = {k: v for k, v in DuckDB.Tokenizer.KEYWORDS.items() if k != "?::"}


_KEPT = {"ANY", "CASE", "CAST", "EXTRACT", "TRY_CAST"}
_WITHOUT_PARENTHESES = frozenset(DuckDB.Parser.NO_PAREN_FUNCTION_PARSERS) - _KEPT
_CALLED = frozenset((*DuckDB.Parser.FUNCTIONS, *DuckDB.Parser.FUNCTION_PARSERS)) - _KEPT
_STAR_FOLLOWS = frozenset({TokenType.SELECT, TokenType.COMMA, TokenType.DOT, TokenType.DISTINCT})
MAX_WAITING_JOINS = 8
_WITHOUT_CONDITION = frozenset({"CROSS", "NATURAL", "POSITIONAL"})
_BEFORE_COLON = frozenset(
    {
        *(TokenType.STRING, TokenType.IDENTIFIER, TokenType.VAR, TokenType.NUMBER),
        *(TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE),
    }
)
"""What ends a key or a value: the colon behind it divides a pair or a slice, and begins no parameter."""
_MASK = "\0"
"""In front of a disguised word. No text holds it (``check_text``), so nobody can write it."""

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Pow: "**",
    exp.RegexpLike: "~",
    exp.RegexpFullMatch: "~",  # up to sqlglot 30.25; its function of that name is disguised
    exp.StartsWith: "^@",
}
"""Operators that sqlglot would print as functions: as operators, DuckDB's own precedence holds, not sqlglot's."""

_RUNS_ON = re.compile(r"[^eE]*[eE][+-]?[0-9_]+[+-]")
_DIALECT = Dialect()
_OPENERS = frozenset(
    {
        *(TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN, TokenType.VALUES),
        *(TokenType.PIVOT, TokenType.UNPIVOT),
    }
)


_ONLY_SELECT = "only SELECT is answered; the owner changes tables, policy and settings"
_WRITTEN = "write the SELECT alone: dpsql run FILE.sql -o OUT.csv --format csv writes what it answers"
_SHELLS = "words that begin with \\ or . are commands of the shell: dpsql shell DATABASE < FILE runs both"
_INSTEAD = {
    **dict.fromkeys(("\\", "."), _SHELLS),
    "COPY": _WRITTEN,
    "CREATE": "write CREATE VIEW name AS SELECT ...: it names a query in this session",
    "EXPORT": _WRITTEN,
}
"""By the first word of what is no SELECT: what to write."""
_PYTHON = re.compile(r"%(\(\w+\))?$")
_PLACEHOLDERS = "values are ? or $name: execute('... age > ?', [30]), or execute('... age > $low', {'low': 30})"
"""What %s and %(low)s of other drivers are here."""


def parse(text: str) -> exp.Query | exp.Values | exp.Pivot:
    """The syntax tree of the only statement in ``text``.

    Raises SqlSyntaxError (with line and column) when it does not parse, UnsupportedQuery when it is not one SELECT.
    """
    try:
        tokens = _tokens(text)
    except SqlglotError:
        line, column = unclosed(text)
        hint = "end it as it began; a quote inside a string is written twice: 'it''s'"
        raise SqlSyntaxError("a string, name or comment is not closed", line=line, column=column, hint=hint) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise SqlSyntaxError("there is no statement", line=1, column=1)
    _check_numbers(text, tokens)
    _check_one_select(text, tokens)
    _check_joins(text, tokens)
    tokens = with_commas(text, tokens)
    try:
        trees = _DIALECT.parser().parse(_disguised(tokens), text)
    except RecursionError:
        raise UnsupportedQuery("the statement is nested too deeply", hint="split it into simpler ones") from None
    except SqlglotError as error:
        raise _syntax_error(error) from None
    except (TypeError, ValueError, ArithmeticError):  # compiled: an operator without operand; up to 30.25: slices
        raise SqlSyntaxError("syntax error") from None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, (exp.Query, exp.Values, exp.Pivot)):
        raise UnsupportedQuery("only one SELECT statement is answered", hint="send a single SELECT")
    _show(tree)
    plain(text, tree)
    return tree


def with_zeros(text: str) -> str:
    """A text that parses, with 0 for every parameter, each character at its place: for a parser without parameters.

    After IN there is a name in its place: DuckDB before 2 knows no ``IN 0``.

    >>> with_zeros("select interval ? day, 'a?' where a > $low")
    "select interval 0 day, 'a?' where a > 0   "
    >>> with_zeros("a in ? and b not in $low")
    'a in x and b not in x   '
    """
    if "?" not in text and "$" not in text and ":" not in text:
        return text
    out, tokens = text, _tokens(text)
    before = None
    for i, (token, after) in enumerate(pairwise([*tokens, None])):
        if token is None:
            break
        end, stand_in = token.end, "x" if before is TokenType.IN else "0"
        before = token.token_type
        if token.token_type in (TokenType.PARAMETER, TokenType.COLON):
            if (
                after is None
                or _divides(tokens, i)
                or after.start != token.end + 1
                or after.token_type not in (TokenType.VAR, TokenType.NUMBER)
            ):
                continue
            end = after.end
        elif token.token_type != TokenType.PLACEHOLDER:
            continue
        out = out[: token.start] + stand_in.ljust(end + 1 - token.start) + out[end + 1 :]
    return out


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = _DIALECT.tokenize(without_false_tags(text))
    for token in tokens:
        if token.token_type == TokenType.PARAMETER:
            token.text = text[token.start]
    return tokens


def to_sql(node: exp.Expr, **options: Any) -> str:
    """The node as DuckDB text; ``options`` are those of sqlglot's generator.

    >>> to_sql(parse("select a ** 2, count(*) from t where b ~ 'x'"))
    "SELECT a ** 2, COUNT(*) FROM t WHERE b ~ 'x'"
    """
    if node.find(*_OPERATORS) is not None:
        node = _with_operators(node.copy(), options)
    return node.sql(dialect=_DIALECT, **options)


def _with_operators(node: exp.Expr, options: dict[str, Any]) -> exp.Expr:
    """The operators of a tree as the text that they are, innermost first."""
    for operator in reversed([n for n in node.walk(bfs=True) if type(n) in _OPERATORS]):
        left, right = (operator.args[k].sql(dialect=_DIALECT, **options) for k in ("this", "expression"))
        text = exp.Var(this=f"{left} {_OPERATORS[type(operator)]} {right}")
        if operator is node:
            return text
        operator.replace(text)
    return node


def _disguised(tokens: list[Token]) -> list[Token]:
    """The tokens without function names that the parser knows, and with numbered parameters.

    Parameters are bound by their order in the text, so each carries its place: ``?`` becomes ``$`` and a word.
    """
    out: list[Token] = []
    last = len(tokens) - 1
    for i, token in enumerate(tokens):
        kind = token.token_type
        after = tokens[i + 1] if i < last else None
        if kind == TokenType.PLACEHOLDER:
            out.append(_like(token, TokenType.PARAMETER, "$"))
            token = _like(token, TokenType.VAR, f"{_MASK}{token.start}{_MASK}")
        elif kind in (TokenType.PARAMETER, TokenType.COLON) and after is not None and not _divides(tokens, i):
            if after.token_type != TokenType.STRING:
                after.text = f"{_MASK}{token.start}{_MASK}{after.text}"
        elif token.text.startswith(_MASK):
            pass
        elif _is_special(tokens, i):
            token.text = f"{_MASK}{token.text}"
        out.append(token)
    return out


def _divides(tokens: list[Token], i: int) -> bool:
    """Whether a colon stands between a key and its value, or between the ends of a slice."""
    return tokens[i].token_type == TokenType.COLON and i > 0 and tokens[i - 1].token_type in _BEFORE_COLON


def _is_special(tokens: list[Token], i: int) -> bool:
    """Whether sqlglot might make something else of a word than a call of a function of this name."""
    token = tokens[i]
    word = token.text.upper()
    if token.token_type == TokenType.STRING:
        return False
    if word in _WITHOUT_PARENTHESES and token.token_type != TokenType.IDENTIFIER:
        return not (word == "MAP" and i + 1 < len(tokens) and tokens[i + 1].token_type == TokenType.L_BRACE)
    if word not in _CALLED or i + 1 == len(tokens) or tokens[i + 1].token_type != TokenType.L_PAREN:
        return False
    return not (word == "REPLACE" and _ends_star(tokens, i - 1))


def _ends_star(tokens: list[Token], i: int) -> bool:
    """Whether the token ends ``*`` or ``* EXCLUDE (...)`` of a select list: REPLACE after it is a clause."""
    if i < 1 or tokens[i].token_type == TokenType.R_PAREN:
        return i >= 1
    return tokens[i].token_type == TokenType.STAR and tokens[i - 1].token_type in _STAR_FOLLOWS


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _show(tree: exp.Expr) -> None:
    """Takes the disguise off, in place."""
    for node in tree.walk():
        word = node.args.get("this")
        if type(word) is str and word[:1] == _MASK:
            place, _, shown = word[1:].rpartition(_MASK)
            node.set("this", shown or None)
            if place:
                _placed(node, int(place))


def _placed(node: exp.Expr, start: int) -> None:
    """Notes on a parameter where it stands."""
    parameter = node.parent if isinstance(node, exp.Identifier) else node
    if isinstance(parameter, (exp.Placeholder, exp.Parameter)):
        parameter.meta["start"] = start


def _check_numbers(text: str, tokens: list[Token]) -> None:
    """sqlglot takes ``1e2+3`` for one number: ``x * 1e2+3`` would be a product, and ``1e2+3e4`` is called e4."""
    for token in tokens:
        if token.token_type == TokenType.NUMBER:
            found = _RUNS_ON.match(text[token.start : token.end + 1])
            if found is not None:
                line, column = line_column(text, token.start + found.end() - 1)
                reason, hint = "a sign right behind an exponent", "write a space before it: 1e3 - 2"
                raise SqlSyntaxError(reason, line=line, column=column, hint=hint)


def _check_one_select(text: str, tokens: list[Token]) -> None:
    first = tokens[0]
    if first.token_type not in _OPENERS:
        line, column = line_column(text, first.start)
        word = first.text.upper()
        meant = get_close_matches(word, ("SELECT", "WITH", "FROM"), 1, cutoff=0.8)
        hint = f"did you mean {meant[0]}?" if meant else _INSTEAD.get(word, _ONLY_SELECT)
        raise UnsupportedQuery(f"{word[:40]} is not a SELECT statement", line=line, column=column, hint=hint)
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            line, column = line_column(text, token.start)
            raise UnsupportedQuery(
                "more than one statement", line=line, column=column, hint="send one statement at a time"
            )


def _check_joins(text: str, tokens: list[Token]) -> None:
    """Refuses many joins that wait for their condition: sqlglot tries every way to nest them."""
    waiting = 0
    for before, token in pairwise(tokens):
        if token.token_type == TokenType.JOIN and before.text.upper() not in _WITHOUT_CONDITION:
            waiting += 1
        elif token.token_type in (TokenType.ON, TokenType.USING):
            waiting = max(0, waiting - 1)
        if waiting > MAX_WAITING_JOINS:
            line, column = line_column(text, token.start)
            reason = f"more than {MAX_WAITING_JOINS} joins without a condition"
            raise UnsupportedQuery(reason, line=line, column=column, hint="write ON or USING after each join")


def _syntax_error(error: SqlglotError) -> SqlSyntaxError:
    details = getattr(error, "errors", None) or [{}]
    first = details[0]
    line, column = first.get("line"), first.get("col")
    highlight = first.get("highlight") or ""
    if isinstance(column, int):
        column = max(1, column - len(highlight) + 1)
    near = f" near {highlight[:40]!r}" if highlight else ""
    python = _PYTHON.search(first.get("start_context") or "") is not None
    return SqlSyntaxError(f"syntax error{near}", line=line, column=column, hint=_PLACEHOLDERS if python else None)
