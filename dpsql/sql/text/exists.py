"""EXISTS over a look-up table, by its rows' keys: ``EXISTS (SELECT 1 FROM d WHERE d.k = t.k AND c)`` is ``t.k IN ...``.

EXISTS is never NULL: a row without a key finds nothing.
"""

from typing import NamedTuple

from sqlglot import exp

from dpsql.sql.text.position import refusal

_PLAIN = frozenset({"kind", "expressions", "from_", "where", "joins", "distinct"})
_HINT = "write key IN (SELECT key FROM a public table WHERE ...)"


class Existing(NamedTuple):
    """``query``: the keys that exist, or any row where there is no ``key`` of the rows around it."""

    key: exp.Expr | None
    query: exp.Select


def existing(text: str, node: exp.Expr, qualifier: str) -> Existing:
    """What EXISTS asks of the public rows inside. ``qualifier``: of the rows around. Raises UnsupportedQuery."""
    query = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    plain = isinstance(query, exp.Select) and not any(v and k not in _PLAIN for k, v in query.args.items())
    if not plain or query.args.get("from_") is None or not all(_is_plain(i) for i in query.expressions):
        raise refusal(text, node, "this form of EXISTS is not answered", _HINT)
    entries = (query.args["from_"].this, *(j.this for j in query.args.get("joins") or ()))
    inside = {e.alias_or_name.lower() for e in entries}
    outer = "" if qualifier in inside else qualifier
    where, keys, kept = query.args.get("where"), list[tuple[exp.Expr, exp.Expr]](), list[exp.Expr]()
    for conjunct in _conjuncts(where):
        found = _pair(conjunct.unnest(), outer)
        if found is not None:
            keys.append(found)
        elif _reads(conjunct, outer):
            raise refusal(text, conjunct, "EXISTS compares the rows around it by equality alone", _HINT)
        else:
            kept.append(conjunct)
    if len(keys) > 1:
        raise refusal(text, node, "EXISTS by several keys is not answered", _HINT)
    key, own = keys[0] if keys else (None, exp.Literal.number(1))
    if key is not None:
        kept.append(exp.Not(this=exp.Is(this=exp.paren(own.copy()), expression=exp.null())))
    made = exp.Select(expressions=[own.copy()], from_=query.args["from_"].copy())
    made.set("joins", [j.copy() for j in query.args.get("joins") or ()])
    if kept:
        made.set("where", exp.Where(this=exp.and_(*(c.copy() for c in kept), wrap=True)))
    return Existing(None if key is None else key.copy(), made)


def _pair(node: exp.Expr, outer: str) -> tuple[exp.Expr, exp.Expr] | None:
    """The side of an equality that the rows around have, and the other."""
    if not isinstance(node, exp.EQ):
        return None
    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        columns = list(one.find_all(exp.Column))
        if columns and all(c.text("table").lower() == outer for c in columns) and not _reads(other, outer):
            return one, other
    return None


def _reads(node: exp.Expr, outer: str) -> bool:
    return any(c.text("table").lower() == outer for c in node.find_all(exp.Column)) if outer else False


def _is_plain(item: exp.Expr) -> bool:
    """What cannot be an aggregate, which would make a row of none."""
    item = item.this if isinstance(item, exp.Alias) else item
    return isinstance(item, (exp.Star, exp.Column, exp.Literal, exp.Null, exp.Boolean))


def _conjuncts(where: exp.Expr | None) -> list[exp.Expr]:
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
