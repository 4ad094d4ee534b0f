"""Bound expressions: DuckDB text over declared columns, with what is known about strings outside a finite list.

Weights over strings must be finite or have a finite complement. Each expression carries what is known of all other
strings, so that the question is settled while it is built.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import zip_longest
from typing import NamedTuple

from dpsql.domain import Prefix, Value
from dpsql.sql.expressions.changes.placed import Known, Pieces, Placed
from dpsql.sql.expressions.changes.steps import NO_STEPS, Steps, merged
from dpsql.sql.expressions.changes.straight import Straight
from dpsql.sql.expressions.number_predicates import Compared, Number
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
    columns along each of which it rises or falls throughout, or holds on one side of a place; ``absolute``: whose
    distance from 0 it is; ``branches``: the conditions of which the first that is TRUE gives it the constant beside it,
    the last one ``None`` where there is an ELSE; ``itself``: the text column whose string it is, unless that is NULL;
    ``holds``: that it is a condition, cast to another type.
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
    absolute: "Bound | None" = None
    branches: "tuple[tuple[Bound | None, Bound], ...]" = ()
    itself: str | None = None
    holds: bool = False

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


def constant_of(bound: Bound) -> Value:
    """What a constant is, if it is text, a number or a boolean; ``None`` is NULL, or not known."""
    named: Mapping[str, Value] = {"TRUE": True, "FALSE": False}
    return bound.literal if bound.literal is not None else named.get(bound.sql, bound.number)


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
        made = Bound(sql, columns, steps=steps_of_all(parts))
    if any(p.times or p.span for p in parts):
        times = NO_COLUMNS.union(*[p.times for p in parts])
        made = made._replace(times=times, span=max(p.span for p in parts))
    if any(p.chooses for p in parts):
        made = made._replace(chooses=NO_COLUMNS.union(*[p.chooses for p in parts]))
    return made


def steps_of_all(parts: Sequence[Bound]) -> Steps:
    return merged(p.steps for p in parts) if any(p.steps for p in parts) else NO_STEPS


def decided(made: Bound, decides: Sequence[Bound], values: Sequence[Bound]) -> Bound:
    """``made``, the first of ``values`` whose condition is TRUE, or the one that is left, or NULL: for a string that is
    no candidate conditions that name strings are FALSE, and what they would choose does not matter."""
    if not made.outside:
        return made
    outside = {t: _chosen(t, decides, values, lambda b, t: b.outside.get(t, Outside.FIXED)) for t in made.outside}
    within = {t: _chosen(t, decides, values, Bound.inside) for t in made.within}
    candidates = merge_candidates([made, *decides])
    return made._replace(outside=outside, within=within, candidates=candidates)


def _chosen(
    text: str, decides: Sequence[Bound], values: Sequence[Bound], of: Callable[[Bound, str], Outside]
) -> Outside:
    reached = []
    for condition, value in zip_longest(decides, values):
        known = Outside.TRUE if condition is None else of(condition, text)
        if known in (Outside.FALSE, Outside.NULL):
            continue
        reached += [of(value, text), *([] if known is Outside.TRUE else [known])]
        if known is Outside.TRUE:
            break
    return reached[0] if len(reached) == 1 else _composed(set(reached))


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
    candidates, steps = merge_candidates(parts), steps_of_all(parts)
    return Bound(sql, columns, outside, candidates, within=within, undeclared=undeclared, steps=steps)


def _composed(seen: set[Outside]) -> Outside:
    return Outside.UNKNOWN if Outside.UNKNOWN in seen else Outside.FIXED


def _connective(sql: str, parts: Sequence[Bound], absorbing: Outside, neutral: Outside) -> Bound:
    columns = union(parts)
    if not any(p.outside for p in parts):
        return Bound(sql, columns, steps=steps_of_all(parts))

    def combined(seen: set[Outside]) -> Outside:
        if absorbing in seen:
            return absorbing
        if Outside.UNKNOWN in seen:
            return Outside.UNKNOWN
        if seen == {neutral}:
            return neutral
        return Outside.NULL if seen <= {neutral, Outside.NULL} else Outside.FIXED

    return _settled(sql, columns, parts, combined)
