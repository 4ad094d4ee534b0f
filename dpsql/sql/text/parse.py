"""Text to syntax tree: DuckDB's dialect, one SELECT statement.

Functions stay what the analyst wrote: sqlglot's typed function nodes, which it would print under other names, are
switched off, so that DuckDB evaluates the very function that was named.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from dpsql.errors import Error, SqlSyntaxError, UnsupportedQuery
from dpsql.sql.text.position import line_column


def _pow(self: Any, node: exp.Pow) -> str:
    return str(self.binary(node, "**"))


def _matches(self: Any, node: exp.RegexpLike) -> str:
    return str(self.binary(node, "~"))


def _starts_with(self: Any, node: exp.StartsWith) -> str:
    return str(self.binary(node, "^@"))


def _with_start(parser: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Placeholders are bound by their order in the text, so they must know where they stand."""

    def parse_placeholder(self: Any) -> Any:
        start = self._prev.start
        node = parser(self)
        if isinstance(node, exp.Placeholder | exp.Parameter):
            node.meta["start"] = start
        return node

    return parse_placeholder


def _literal_list(parser: Any) -> list[exp.Expr] | None:
    """The strings and numbers of ``(item, item, ...)`` ahead, which is then consumed; ``None`` for anything else."""
    tokens, index = parser._tokens, parser._index + 1
    if parser._curr.token_type != TokenType.L_PAREN:
        return None
    items: list[exp.Expr] = []
    while index + 1 < len(tokens):
        token, kind, after = tokens[index], tokens[index].token_type, tokens[index + 1].token_type
        if kind not in (TokenType.STRING, TokenType.NUMBER) or after not in (TokenType.COMMA, TokenType.R_PAREN):
            return None
        item = exp.Literal(this=token.text, is_string=kind == TokenType.STRING)
        item.update_positions(token)
        items.append(item)
        index += 2
        if after == TokenType.R_PAREN:
            parser._advance(index - parser._index)
            return items
    return None


class Dialect(DuckDB):
    """DuckDB's dialect with every function kept under its own name."""

    class Tokenizer(DuckDB.Tokenizer):
        # "?::" is an operator elsewhere; here it is a parameter and a cast
        KEYWORDS: ClassVar[Any] = {k: v for k, v in DuckDB.Tokenizer.KEYWORDS.items() if k != "?::"}

    class Parser(DuckDB.Parser):  # type: ignore[misc, valid-type] # sqlglot makes the class at run time
        FUNCTIONS: ClassVar[Any] = {}
        FUNCTION_PARSERS: ClassVar[Any] = {
            name: parser
            for name, parser in DuckDB.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT")
        }
        PLACEHOLDER_PARSERS: ClassVar[Any] = {
            token: _with_start(parser) for token, parser in DuckDB.Parser.PLACEHOLDER_PARSERS.items()
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[Any] = {
            name: parser for name, parser in DuckDB.Parser.NO_PAREN_FUNCTION_PARSERS.items() if name in ("ANY", "CASE")
        }

        def _parse_in(self, this: Any, alias: bool = False) -> Any:
            """Lists of nothing but literals are read here: sqlglot would try every precedence on each item."""
            items = _literal_list(self)
            return super()._parse_in(this, alias) if items is None else exp.In(this=this, expressions=items)

    class Generator(DuckDB.Generator):  # type: ignore[misc, valid-type] # as above
        # Operators are printed as operators, so that DuckDB's own precedence holds, not sqlglot's.
        TRANSFORMS: ClassVar[Any] = {
            **DuckDB.Generator.TRANSFORMS,
            exp.Pow: _pow,
            exp.RegexpLike: _matches,
            exp.StartsWith: _starts_with,
        }


_DIALECT = Dialect()
_OPENERS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN, TokenType.VALUES})


def parse(text: str) -> exp.Query | exp.Values:
    """The syntax tree of the only statement in ``text``.

    Raises SqlSyntaxError (with line and column) when it does not parse, UnsupportedQuery when it is not one SELECT.
    """
    try:
        tokens = _DIALECT.tokenize(text)
    except SqlglotError:
        raise SqlSyntaxError("a string, name or comment is not closed") from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise SqlSyntaxError("there is no statement")
    _check_one_select(text, tokens)
    try:
        trees = _DIALECT.parser().parse(tokens, text)
    except RecursionError:
        raise UnsupportedQuery("the statement is nested too deeply", hint="split it into simpler ones") from None
    except SqlglotError as error:
        raise _syntax_error(error) from None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise UnsupportedQuery("only one SELECT statement is answered", hint="send a single SELECT")
    return tree


def is_bare(word: str) -> bool:
    """Whether an ASCII word without quotes is a name wherever a name can stand: of a column, of a table, after AS.

    >>> is_bare("age"), is_bare("select"), is_bare("current_date"), is_bare("all")
    (True, False, False, False)
    """
    # LIST < and its kin begin a type
    where = f"{word} = 1 AND {word} IN (1) AND {word} BETWEEN 1 AND 2 AND {word} < 1"
    try:
        tree = parse(f"SELECT {word}, COUNT(*) AS {word} FROM {word} WHERE {where} GROUP BY {word}")
    except Error:
        return False
    found = [n for n in tree.walk() if type(n) in (exp.Alias, exp.Table, exp.Column)]
    counts = [sum(type(n) is kind for n in found) for kind in (exp.Alias, exp.Table, exp.Column)]
    return counts == [1, 1, 6] and all(n.alias_or_name == word for n in found)


def _check_one_select(text: str, tokens: list[Token]) -> None:
    first = tokens[0]
    if first.token_type not in _OPENERS:
        line, column = line_column(text, first.start)
        raise UnsupportedQuery(
            f"{first.text.upper()[:40]} is not a SELECT statement",
            line=line,
            column=column,
            hint="only SELECT is answered; the owner changes tables, policy and settings",
        )
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            line, column = line_column(text, token.start)
            raise UnsupportedQuery(
                "more than one statement", line=line, column=column, hint="send one statement at a time"
            )


def _syntax_error(error: SqlglotError) -> SqlSyntaxError:
    details = getattr(error, "errors", None) or [{}]
    first = details[0]
    line, column = first.get("line"), first.get("col")
    highlight = first.get("highlight") or ""
    if isinstance(column, int):
        column = max(1, column - len(highlight) + 1)
    near = f" near {highlight[:40]!r}" if highlight else ""
    return SqlSyntaxError(f"syntax error{near}", line=line, column=column)
