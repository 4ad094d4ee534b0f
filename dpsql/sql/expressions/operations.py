"""What is known of operations and functions of bound expressions: where they change, when they are NULL, what they are.

A comparison that may change anywhere inside of bins is also taken apart: ``x = y`` is ``x >= y AND x <= y``, each of
which changes on one side of a place alone.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from sqlglot import exp

from dpsql.dialect.types import INTEGERS
from dpsql.sql.expressions.bound import Bound, compose, constant_of, decided, merge_candidates, steps_of_all, union
from dpsql.sql.expressions.changes.monotone import monotone_along
from dpsql.sql.expressions.changes.placed import (
    Known,
    Placed,
    Rounded,
    chosen,
    curve,
    cycle,
    few,
    function,
    moved,
    pieces_of,
    rounding,
    with_values,
)
from dpsql.sql.expressions.changes.steps import NO_STEPS, UNKNOWN, merged
from dpsql.sql.expressions.changes.straight import arithmetic, whole
from dpsql.sql.expressions.operators import COMPARISON, unwrap


def about(text: str) -> float | None:
    """About the number that a literal's text stands for; DuckDB may read another one next to it."""
    try:
        return float(text)
    except ValueError:
        return None


_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)
_OF_NAN = frozenset({"isnan", "isinf", "isfinite"})


def calculated(kind: type, made: Bound, left: Bound, right: Bound) -> Bound:
    """``made``, which is ``left op right``, with what is known of it when it is a straight line of a number column."""
    by_zero = kind in _DIVISIONS and not right.constant
    void = by_zero and (kind is not exp.Div or bool(left.times) or left.span > 0)  # of numbers x / 0 is not NULL
    voids = merged((left.emptied, right.emptied, right.steps if void else NO_STEPS))
    scaled = exp.Mul if kind is exp.Div and right.constant else kind
    monotone = monotone_along(scaled, [(b.monotone, b.steps) for b in (left, right)])
    made = made._replace(voids=voids, product=_multiplied(kind, left, right), monotone=monotone)
    line = arithmetic(kind, left.line, right.line)
    if line is not None:
        return made._replace(straight=line)
    found = cycle(kind, left.known, right.known)
    if found is not None:
        return made._replace(pieces=found, steps=merged([made.steps, found.turns]))
    constant = whole(kind, left.constant, right.constant)
    pieces = moved(kind, left.known, right.known) or with_values(kind, left.known, right.values, right.steps)
    pieces = pieces or with_values(kind, right.known, left.values, left.steps, first=False)
    return made._replace(constant=constant, pieces=pieces, values=few(kind, _values(left), _values(right)))


def _values(bound: Bound) -> Sequence[float]:
    return bound.values if bound.constant is None else (bound.constant,)


def opposite(of: Bound) -> tuple[Bound, ...]:
    """The expressions of which ``- of`` is the product, where ``of`` is one."""
    return _multiplied(exp.Mul, of, Bound("-1", number=-1, constant=-1.0)) if of.product else ()


def _multiplied(kind: type, left: Bound, right: Bound) -> tuple[Bound, ...]:
    """The expressions that share no column of which ``left op right`` is the product; none where it is no product."""
    if kind is exp.Mul and right.product and not left.columns:
        left, right = right, left
    if left.product and right.constant and kind in (exp.Mul, exp.Div):
        found = [*left.product]
        at = next((i for i, b in enumerate(found) if b.straight), 0)  # of which the constant is part
        sql = f"({found[at].sql}) {'*' if kind is exp.Mul else '/'} {right.sql}"
        found[at] = calculated(kind, compose(sql, (found[at], right)), found[at], right)
        return tuple(found)
    apart = left.columns and right.columns and left.columns.isdisjoint(right.columns)
    plain = not (left.outside or right.outside or left.times or right.times or left.span or right.span)
    if kind is not exp.Mul or not apart or not plain:
        return ()
    return (*(left.product or (left,)), *(right.product or (right,)))


def against(made: Bound, tested: Bound, constants: Sequence[Bound]) -> Bound:
    """``made``, a comparison of ``tested`` with ``constants``, with the places where it may change."""
    known = tested.known
    constants = [c for c in constants if c.sql != "NULL"]  # which compares alike with every value
    values = [v for c in constants for v in (c.values or [c.constant if c.literal is None else about(c.literal)])]
    if not isinstance(known, Placed) or (isinstance(known, Rounded) and None in values):
        return made
    others = {name: breaks for name, breaks in made.steps.items() if name not in known.passing}
    return made._replace(steps=merged([others, known.compared(values)]))


def ordered(kind: type, made: Bound, left: Bound, right: Bound) -> Bound:
    """``made``, a comparison of the two by their order."""
    if same(left, right):
        return null_only(made, left)
    made = made._replace(monotone=monotone_along(kind, [(b.monotone, b.steps) for b in (left, right)]))
    line = isinstance(left.known, Placed)
    made = against(made, left, (right,)) if line else against(made, right, (left,))
    return _in_parts(kind, made, left, right)


def between(made: Bound, tested: Bound, low: Bound, high: Bound) -> Bound:
    """``made``, which is ``tested BETWEEN low AND high``."""
    made = against(made, tested, (low, high))
    if not _is_open(made):
        return made
    parts = _compared(exp.GTE, tested, low), _compared(exp.LTE, tested, high)
    return made._replace(together=parts, steps=merged([p.steps for p in parts]))


def _in_parts(kind: type, made: Bound, left: Bound, right: Bound) -> Bound:
    """``made``, a comparison that may change anywhere, with comparisons that change on one side of a place alone, of
    which it is made: of NaN and NULL, too, each is TRUE where DuckDB says so."""
    if not _is_open(made):
        return made
    if kind in _EQUAL:
        parts = tuple([_compared(part, left, right) for part in _EQUAL[kind]])
        made = made._replace(steps=merged([p.steps for p in parts]))
        return made._replace(together=parts) if kind is exp.EQ else made._replace(alternatives=parts)
    if kind in _MIRRORED and (left.absolute is None or not _is_open(left.absolute)):
        kind, left, right = _MIRRORED[kind], right, left
    of = left.absolute
    if of is None or kind not in _MIRRORED:
        return made
    within = kind in (exp.LT, exp.LTE)
    sides = ("< 0 OR", "> 0 OR") if within else (">= 0 AND", "< 0 AND")  # ``- of`` may be too large for its type
    monotone = monotone_along(kind, [(b.monotone, b.steps) for b in (of, right)])
    parts = tuple(
        [Bound(f"({of.sql}) {s} ({made.sql})", made.columns, steps=made.steps, monotone=monotone) for s in sides]
    )
    return made._replace(together=parts) if within else made._replace(alternatives=parts)


_EQUAL: Mapping[type, tuple[type, type]] = {exp.EQ: (exp.GTE, exp.LTE), exp.NEQ: (exp.GT, exp.LT)}
_MIRRORED: Mapping[type, type] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}


def _compared(kind: type, left: Bound, right: Bound) -> Bound:
    made = Bound(f"({left.sql}) {COMPARISON[kind]} ({right.sql})", union((left, right)))
    return ordered(kind, made._replace(steps=merged((left.steps, right.steps))), left, right)


def _is_open(made: Bound) -> bool:
    """Whether a condition may change anywhere along a binned column."""
    return any(breaks >= UNKNOWN for breaks in made.steps.values()) and not made.outside


def same(left: Bound, right: Bound) -> bool:
    """Whether two expressions are one."""
    return left.sql == right.sql or (left.numeric is not None and left.numeric == right.numeric)


def called(name: str, made: Bound, parts: Sequence[Bound]) -> Bound:
    """``made``, a function of ``parts``, with what is known of where it changes."""
    known = [p.known for p in parts]
    made = made._replace(monotone=monotone_along(name, [(p.monotone, p.steps) for p in parts]))
    if name == "nullif":
        made = choosing(made, parts)
    if name == "abs" and len(parts) == 1:
        made = made._replace(absolute=parts[0])
    if name == "if" and len(parts) == 3:
        return cases(decided(made, parts[:1], parts[1:]), parts[:1], parts[1:])
    if name in ("coalesce", "ifnull") and parts[0].text is not None and parts[0].text.start is None:
        words = [p.literal for p in parts[1:]]
        if None not in words:  # whose own strings are in the group of the NULLs
            column = parts[0].text.column
            named = frozenset(word for word in words if word is not None)
            listed = merge_candidates([made, Bound("", candidates={column: named})])
            return made._replace(itself=column, candidates=listed)
    if name in _OF_NAN and parts and parts[0].numeric is not None:  # whose values are numbers
        return made._replace(steps=dict.fromkeys(made.steps, frozenset()))
    if name == "mod" and len(parts) == 2:
        return calculated(exp.Mod, made, *parts)
    pieces, bent = pieces_of(name, known), curve(name, known)
    if pieces is not None:  # it may be least or most where lines meet, and is another number at turns
        return made._replace(pieces=pieces, steps=merged([made.steps, pieces.turns, pieces.kinks]))
    return made._replace(pieces=bent) if bent is not None else rounded_of(name, made, known)


def rounded_of(name: str, made: Bound, known: Sequence[Known]) -> Bound:
    """``made``, a function of these that is constant between places where it may change, if it is one."""
    steps = function(name, known)
    return made._replace(pieces=rounding(name, known), steps=made.steps if steps is None else steps)


def cases(made: Bound, decides: Sequence[Bound], values: Sequence[Bound], compared: Bound | None = None) -> Bound:
    """``made``, one of ``values`` or NULL, by what these conditions are, or what ``compared`` is equal to of them."""
    if compared is not None:
        return cases(made, (compared, *decides), values)._replace(branches=())
    known = [v.known for v in values if v.sql != "NULL"]
    turns = steps_of_all(decides)
    voids = merged([turns, *(v.emptied for v in values)])
    branches = tuple(zip_longest(decides, values)) if len(values) - len(decides) in (0, 1) and _alike(values) else ()
    return choosing(made, decides)._replace(pieces=chosen(known, turns), voids=voids, branches=branches)


def _alike(values: Sequence[Bound]) -> bool:
    """Whether all are texts that are written out, or numbers, or TRUE and FALSE, or NULL: DuckDB casts none of them to
    what another one is."""
    found = [constant_of(v) for v in values if v.sql != "NULL"]
    return None not in found and len({float if type(c) is int else type(c) for c in found}) <= 1


def converted(node: exp.Expr, made: Bound, inner: Bound) -> Bound:
    """``made``, the cast ``node`` of ``inner``; TRY_CAST makes NULL anywhere."""
    holds = isinstance(unwrap(node.this), (exp.Predicate, exp.Connector, exp.Not))
    return made._replace(voids=inner.emptied if type(node) is exp.Cast else None, holds=holds)


def number_of(to: str, made: Bound, inner: Bound) -> Bound:
    """``made``, a cast of ``inner`` to this type, which keeps doubles and rounds to whole numbers."""
    if to == "DOUBLE":
        factors = inner.product if any(b.straight for b in inner.product) else ()  # whole numbers are no more
        return made._replace(straight=inner.straight, pieces=inner.pieces, product=factors, monotone=inner.monotone)
    return rounded_of("round", made, [inner.known]) if to in INTEGERS else made


def choosing(made: Bound, decides: Sequence[Bound]) -> Bound:
    """``made``, whose value is chosen by these."""
    anywhere = [name for d in decides for name, breaks in d.steps.items() if breaks >= UNKNOWN]
    return made._replace(chooses=made.chooses.union(anywhere)) if anywhere else made


def null_only(made: Bound, tested: Bound) -> Bound:
    """``made``, a test whether ``tested`` is NULL: inside of bins it changes where that is emptied alone."""
    emptied = tested.emptied
    return made._replace(steps={name: emptied.get(name, frozenset()) for name in made.steps})
