"""Bound expressions: DuckDB text over declared columns, with what is known about strings outside a finite list.

Weights over strings must be finite or have a finite complement. Each expression carries what is known of all other
strings, so that the question is settled while it is built.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from sqlglot import exp

from dpsql.domain import Prefix
from dpsql.sql.expressions.number_predicates import Compared, Number
from dpsql.sql.expressions.steps import (
    NO_STEPS,
    UNKNOWN,
    Known,
    Pieces,
    Placed,
    Steps,
    Straight,
    arithmetic,
    chosen,
    curve,
    cycle,
    few,
    function,
    merged,
    monotone_along,
    moved,
    pieces_of,
    whole,
    with_values,
)
from dpsql.sql.expressions.text_classes import Candidate, Candidates, Start


class Outside(Enum):
    """Value of an expression when a text column holds a string that is none of its candidates.

    ``FIXED``: depends on other columns only. ``UNKNOWN``: depends on the string.
    """

    FALSE = 0
    TRUE = 1
    NULL = 2
    FIXED = 3
    UNKNOWN = 4


NO_OUTSIDE: Mapping[str, Outside] = {}
NO_CANDIDATES: Candidates = {}
NO_COLUMNS: frozenset[str] = frozenset()
_SWAPPED = {Outside.FALSE: Outside.TRUE, Outside.TRUE: Outside.FALSE}


class Listed(NamedTuple):
    """A predicate on ``column`` alone, by its string: what it is on those ``listed``, on NULL, on any other.

    With a ``length`` it is decided by the string's first characters instead of the whole.
    """

    column: str
    listed: frozenset[str]
    inside: Outside
    null: Outside
    outside: Outside
    length: int | None = None


class Text(NamedTuple):
    """A text column (``start`` is ``None``) or its first ``start`` characters, a declared one of the ``lengths``."""

    column: str
    lengths: tuple[int, ...] = ()
    start: int | None = None

    @property
    def keyed_by(self) -> str:
        """The text column whose keys these strings are."""
        return self.column if self.start is None else Prefix(self.column, self.start).name

    def listing(self, keys: Iterable[str | None]) -> frozenset[Candidate]:
        """The candidates that these strings (or starts) of it are; NULL of a whole string is always one.

        >>> Text("name").listing(["a", None])
        frozenset({'a'})
        """
        if self.start is None:
            return frozenset(k for k in keys if k is not None)
        return frozenset(Start(self.start, k) for k in keys)


class Bound(NamedTuple):
    """One expression over the declared columns of one private table. Public.

    ``sql`` is DuckDB text with quoted column names and literal values. ``outside`` and ``candidates`` have an entry
    for each text column that is mentioned; ``within`` has the value for strings that are no candidate but begin with
    a listed prefix, where that differs from ``outside``. ``text`` is set when the expression is a text column or its
    prefix, and ``strings`` names the text or category column; ``literal`` is its string, if it is a string literal.
    ``listed`` is set for a predicate that needs no evaluation, and so is ``compared``. ``numeric`` names the column of
    numbers that the expression is; ``number`` is the value of a number that is written out. ``undeclared`` is the
    length of a prefix that it needs and the policy does not declare. ``steps`` has an entry for each binned column that
    is mentioned; ``straight`` is set for a number column times a constant plus another; ``constant`` is about the value
    of a constant number. ``times`` are the date columns whose time of day, had they one, could show in the value;
    ``span`` says how fine the intervals in it are (``dates.DAY`` and finer). ``unit`` is set for the
    column of privacy units, which has no declared values. ``alternatives`` are the parts of which one at least is TRUE
    exactly where it is, ``together`` those that are all TRUE there, where it joins predicates. ``distance``: whether
    what is added up of it is how far it is from the whole number next to 0 that all its values are beyond. ``pieces``
    are the straight lines that it is one of, or one less multiples of a constant; ``voids``: where values of binned
    columns may make it NULL that was not, or the other way, if that is known; ``chooses``: the columns of conditions
    that decide its value and may change anywhere; ``choices``: what it is where, if conditions choose it and somebody
    looked; ``product``: expressions that share no column, of which it is the product; ``values``: what it may be, of
    few numbers; ``guarded``: what it is where conditions hold, if that is all that matters; ``monotone``: the binned
    columns along each of which it rises or falls throughout, or holds on one side of a place.
    """

    sql: str
    columns: frozenset[str] = NO_COLUMNS
    outside: Mapping[str, Outside] = NO_OUTSIDE
    candidates: Candidates = NO_CANDIDATES
    text: Text | None = None
    literal: str | None = None
    strings: str | None = None
    listed: Listed | None = None
    compared: Compared | None = None
    numeric: str | None = None
    number: Number | None = None
    within: Mapping[str, Outside] = NO_OUTSIDE
    undeclared: int | None = None
    steps: Steps = NO_STEPS
    straight: Straight | None = None
    constant: float | None = None
    times: frozenset[str] = NO_COLUMNS
    span: int = 0
    unit: bool = False
    alternatives: "tuple[Bound, ...]" = ()
    together: "tuple[Bound, ...]" = ()
    distance: bool = False
    pieces: Placed | None = None
    voids: Steps | None = None
    chooses: frozenset[str] = NO_COLUMNS
    product: "tuple[Bound, ...]" = ()
    values: tuple[float, ...] = ()
    choices: "tuple[Chosen, ...]" = ()
    guarded: "Bound | None" = None
    monotone: frozenset[str] = NO_COLUMNS

    @property
    def line(self) -> Straight | float | None:
        """The expression as a straight line of one number column or as a constant, if it is one."""
        return self.constant if self.straight is None else self.straight

    @property
    def known(self) -> Known:
        """The same, or the straight lines of which it is one, or one less multiples of a constant."""
        return self.pieces or self.constant if self.straight is None else Pieces(frozenset([self.straight]))

    @property
    def emptied(self) -> Steps:
        """Where it may become NULL along each binned column: at turns of its lines, and at steps where that is all."""
        if self.voids is None:
            return self.known.turns if isinstance(self.known, Pieces) else self.steps
        return self.voids

    def inside(self, text: str) -> Outside:
        """Value for strings of ``text`` that are no candidate but begin with a listed prefix."""
        return self.within.get(text, self.outside.get(text, Outside.FIXED))


class Chosen(NamedTuple):
    """A value over the rows where every one of ``conjuncts`` is TRUE, which count ``times``."""

    times: float
    conjuncts: tuple[Bound, ...]
    value: Bound


def union(parts: Sequence[Bound]) -> frozenset[str]:
    """The columns of all parts."""
    columns = NO_COLUMNS
    for p in parts:
        if p.columns:
            columns = columns | p.columns if columns else p.columns
    return columns


def compose(sql: str, parts: Sequence[Bound]) -> Bound:
    """An expression of ``parts`` about whose meaning nothing is known: outside, it is fixed or unknown."""
    columns = union(parts)
    if any(p.outside for p in parts):
        made = _settled(sql, columns, parts, _composed)
    else:
        made = Bound(sql, columns, steps=_steps(parts))
    if any(p.times or p.span for p in parts):
        times = NO_COLUMNS.union(*[p.times for p in parts])
        made = made._replace(times=times, span=max(p.span for p in parts))
    if any(p.chooses for p in parts):
        made = made._replace(chooses=NO_COLUMNS.union(*[p.chooses for p in parts]))
    return made


def _steps(parts: Sequence[Bound]) -> Steps:
    return merged(p.steps for p in parts) if any(p.steps for p in parts) else NO_STEPS


def conjunction(sql: str, parts: Sequence[Bound]) -> Bound:
    """``parts`` joined by AND."""
    return _connective(sql, parts, Outside.FALSE, Outside.TRUE)._replace(together=tuple(parts))


def disjunction(sql: str, parts: Sequence[Bound]) -> Bound:
    """``parts`` joined by OR."""
    return _connective(sql, parts, Outside.TRUE, Outside.FALSE)._replace(alternatives=tuple(parts))


def negation(sql: str, part: Bound) -> Bound:
    """NOT ``part``."""
    listed = part.listed
    if listed is not None:
        inside, null, other = (_SWAPPED.get(o, o) for o in listed[2:5])
        listed = listed._replace(inside=inside, null=null, outside=other)
    if not part.outside:  # De Morgan
        one, all_ = ([negation(f"NOT ({p.sql})", p) for p in parts] for parts in (part.together, part.alternatives))
        made = Bound(sql, part.columns, listed=listed, steps=part.steps, monotone=part.monotone)
        return made._replace(alternatives=tuple(one), together=tuple(all_)) if one or all_ else made
    outside = {t: _SWAPPED.get(o, o) for t, o in part.outside.items()}
    within = {t: _SWAPPED.get(o, o) for t, o in part.within.items()}
    return Bound(
        sql,
        part.columns,
        outside,
        part.candidates,
        listed=listed,
        within=within,
        undeclared=part.undeclared,
        steps=part.steps,
    )


def merge_candidates(parts: Iterable[Bound]) -> Candidates:
    """Candidates of each text column, over all parts."""
    out: dict[str, frozenset[Candidate]] = {}
    for p in parts:
        for t, strings in p.candidates.items():
            out[t] = out[t] | strings if t in out else strings
    return out


def _settled(
    sql: str, columns: frozenset[str], parts: Sequence[Bound], combined: Callable[[set[Outside]], Outside]
) -> Bound:
    """An expression whose value outside the candidates follows from the set of its parts' values."""
    texts = dict.fromkeys(t for p in parts for t in p.outside)
    outside = {t: combined({p.outside.get(t, Outside.FIXED) for p in parts}) for t in texts}
    within = {t: combined({p.inside(t) for p in parts}) for t in texts if any(t in p.within for p in parts)}
    undeclared = next((p.undeclared for p in parts if p.undeclared is not None), None)
    candidates, steps = merge_candidates(parts), _steps(parts)
    return Bound(sql, columns, outside, candidates, within=within, undeclared=undeclared, steps=steps)


def _composed(seen: set[Outside]) -> Outside:
    return Outside.UNKNOWN if Outside.UNKNOWN in seen else Outside.FIXED


def _connective(sql: str, parts: Sequence[Bound], absorbing: Outside, neutral: Outside) -> Bound:
    columns = union(parts)
    if not any(p.outside for p in parts):
        return Bound(sql, columns, steps=_steps(parts))

    def combined(seen: set[Outside]) -> Outside:
        if absorbing in seen:
            return absorbing
        if Outside.UNKNOWN in seen:
            return Outside.UNKNOWN
        if seen == {neutral}:
            return neutral
        return Outside.NULL if seen <= {neutral, Outside.NULL} else Outside.FIXED

    return _settled(sql, columns, parts, combined)


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
    pieces = moved(kind, left.known, right.known) or with_values(kind, left.known, right.values)
    pieces = pieces or with_values(kind, right.known, left.values, first=False)
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
    return made._replace(steps={**made.steps, **known.compared(values)}) if isinstance(known, Placed) else made


def ordered(kind: type, made: Bound, left: Bound, right: Bound) -> Bound:
    """``made``, a comparison of the two by their order."""
    if same(left, right):
        return null_only(made, left)
    made = made._replace(monotone=monotone_along(kind, [(b.monotone, b.steps) for b in (left, right)]))
    line = isinstance(left.known, Placed)
    return against(made, left, (right,)) if line else against(made, right, (left,))


def same(left: Bound, right: Bound) -> bool:
    """Whether two expressions are one."""
    return left.sql == right.sql or (left.numeric is not None and left.numeric == right.numeric)


def called(name: str, made: Bound, parts: Sequence[Bound]) -> Bound:
    """``made``, a function of ``parts``, with what is known of where it changes."""
    known = [p.known for p in parts]
    made = made._replace(monotone=monotone_along(name, [(p.monotone, p.steps) for p in parts]))
    if name == "nullif":
        made = choosing(made, parts)
    if name == "if" and len(parts) == 3:
        return cases(made, parts[:1], parts[1:])
    if name in _OF_NAN and parts and parts[0].numeric is not None:  # whose values are numbers
        return made._replace(steps=dict.fromkeys(made.steps, frozenset()))
    if name == "mod" and len(parts) == 2:
        return calculated(exp.Mod, made, *parts)
    steps, pieces, bent = function(name, known), pieces_of(name, known), curve(name, known)
    if pieces is not None:  # it may be least or most where lines meet, and is another number at turns
        return made._replace(pieces=pieces, steps=merged([made.steps, pieces.turns, pieces.kinks]))
    return made._replace(pieces=bent) if steps is None else made._replace(steps=steps)


def cases(made: Bound, decides: Sequence[Bound], values: Sequence[Bound]) -> Bound:
    """``made``, one of ``values`` or NULL, by what these conditions are."""
    known = [v.known for v in values if v.sql != "NULL"]
    turns = _steps(decides)
    voids = merged([turns, *(v.emptied for v in values)])
    return choosing(made, decides)._replace(pieces=chosen(known, turns), voids=voids)


def choosing(made: Bound, decides: Sequence[Bound]) -> Bound:
    """``made``, whose value is chosen by these."""
    anywhere = [name for d in decides for name, breaks in d.steps.items() if breaks >= UNKNOWN]
    return made._replace(chooses=made.chooses.union(anywhere)) if anywhere else made


def null_only(made: Bound, tested: Bound) -> Bound:
    """``made``, a test whether ``tested`` is NULL: inside of bins it changes where that is emptied alone."""
    emptied = tested.emptied
    return made._replace(steps={name: emptied.get(name, frozenset()) for name in made.steps})
