"""Lowering: conditions, group expressions and measures become groups and affine forms of linear queries.

Conditions are split into components that share no column. Each component is evaluated on the grid of its own columns;
the product over components is the query.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, product
from math import inf, prod

import numpy as np
import numpy.typing as npt

from dpsql.domain import FIXED_POINT, TableDomain, Value
from dpsql.memo import Memo
from dpsql.query import CountForms, Counts, Form, LinearQuery, Term
from dpsql.sql.aggregates.aggregation import Summand
from dpsql.sql.counting.alternatives import predicates_of
from dpsql.sql.counting.bins.cells import cut_words
from dpsql.sql.counting.bins.held import changes_anywhere
from dpsql.sql.counting.cluster_pieces import Answer, ClusterPieces
from dpsql.sql.counting.clusters import Cluster, clusters
from dpsql.sql.counting.crosstabs import Component, combinations, counted
from dpsql.sql.counting.evaluate import Codes, Evaluator, Grids, spread
from dpsql.sql.counting.groups import (
    Ranks,
    numbers_held,
    pieces_held,
    sums_values,
    too_many_cells,
    values_beside_strings,
)
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.counting.pieces import QueryPiece, is_beyond, terms_of, weighed_by_too_many
from dpsql.sql.counting.values.classes import classed, parts_told
from dpsql.sql.counting.values.parts import PartNumbers, guarded
from dpsql.sql.counting.values.rules import FEW_STRETCHES, NEWEST, ValueRules
from dpsql.sql.counting.values.spans import summed_by_value
from dpsql.sql.expressions.bound import Bound, Outside, Text, merge_candidates
from dpsql.sql.expressions.changes.steps import merged
from dpsql.sql.expressions.text_classes import Candidate, Candidates
from dpsql.sql.text.limits import MAX_CELLS, MAX_PARTS


class Lowering:
    """The lowering of one block: its condition and group expressions are fixed, parts are asked one by one."""

    def __init__(
        self,
        text: str,
        table: TableDomain,
        evaluator: Evaluator,
        cache: Memo[Answer],
        condition: Sequence[Bound],
        groups: Sequence[Bound],
        parts: Sequence[Summand],
        keys: KeyLookup,
        most_cells: int = MAX_CELLS,
        *,
        products: bool = False,
        values: ValueRules = NEWEST,
    ) -> None:
        self._text, self._table = text, table
        self._most_cells, self._products, self._values = most_cells, products, values
        self._evaluator, self._cache = evaluator, cache
        self._condition, self._groups, self._keys = tuple(condition), tuple(groups), keys
        bounds = [*self._condition, *self._groups, *(b for p in parts for b in p.bounds)]
        candidates = merge_candidates(bounds)
        self._steps = merged(b.steps for b in bounds)
        self._grids = Grids(table, candidates, self._steps, passed=values.passed)
        self._codes: dict[int, Codes] = {}
        self._released: dict[int, tuple[str | None, ...]] = {}
        self._awaited: set[str] = set()
        self._splits = [self._components(Summand(1.0)), *[self._components(p) for p in parts]]
        self._grids = classed(self._grids, evaluator, bounds, self._splits)
        self._prefetch()
        awaits = self._release(keys)
        if self._released:
            self._list(self._with_released(candidates))
        self._matching: set[tuple[int, str]] = set()
        self._valued: set[int] = set()
        self._open = self._open_texts()
        awaits |= self._release_matched(keys)
        self._number = prod([len(self._group_codes(g).values) for g in range(len(self._groups))])
        self._values = values.of_statement(self._number, strings=bool(self.texts))
        self._answers = [self._split_answers(split) for split in self._splits]
        self._tie(parts)
        self._awaits = awaits
        self.groups: tuple[tuple[Value, ...], ...] = ((),)
        self._ranks: Counts = np.zeros((1, 0), dtype=np.int64)
        if awaits or groups:
            self._find_groups(none=awaits)

    def _with_released(self, candidates: Candidates) -> Candidates:
        merged = dict(candidates)
        for g, found in self._released.items():
            text = self._groups[g].text
            if text is not None:
                merged[text.column] = merged.get(text.column, frozenset()) | text.listing(found)
        return merged

    def _list(self, candidates: Candidates) -> None:
        """Starts anew with these strings listed."""
        self._grids = Grids(self._table, candidates, self._steps, self._grids.classes, passed=self._values.passed)
        self._codes.clear()
        self._prefetch()

    def by(self, value: Bound, conjuncts: Sequence[Bound]) -> "Lowering":
        """The lowering of the same rows, as far as ``conjuncts`` hold, by one group more: its counts are ``counts``."""
        inside, groups = (*self._condition, *conjuncts), (*self._groups, value)
        shared = self._text, self._table, self._evaluator, self._cache
        most, products, values = self._most_cells, self._products, self._values
        return Lowering(*shared, inside, groups, (), self._keys, most, products=products, values=values)

    def counts(self) -> Sequence[Form]:
        """The number of rows of each group."""
        return self.forms([(-1, Summand(1.0))])

    def group_type(self, position: int) -> str:
        """DuckDB type of a group expression."""
        return self._group_codes(position).sql_type

    def forms(self, chosen: Sequence[tuple[int, Summand]]) -> Sequence[Form]:
        """One form per group: the sum of the parts, each given with its index in the constructor's list."""
        match chosen:
            case [(index, Summand(coefficient=1))] if len(self.groups) > 1:
                found = counted(self._table, self._components_of(index + 1), self._ranks, self._most_cells)
                if found is not None:
                    return CountForms(found)
        out = []
        for ranks in map(tuple, self._ranks.tolist()):
            terms: list[Term] = []
            for index, part in chosen:
                terms.extend(self._terms(index + 1, part.coefficient, ranks))
            out.append(Form(0.0, tuple(terms)))
        return tuple(out)

    @property
    def numbers(self) -> PartNumbers:
        """What its parts add up."""
        return PartNumbers(self._table, self._evaluator, self._grids, self._condition)

    @property
    def awaits(self) -> bool:
        """Whether strings are not released without which it has no groups."""
        return self._awaits

    @property
    def may_await(self) -> bool:
        """Whether it or another one of the statement does."""
        return bool(self._keys.awaited)

    @property
    def asked(self) -> tuple[str, ...]:
        """The finite columns that it asks about, in the table's order."""
        names = {name for split in self._splits for c in split for name in c.columns}
        return tuple([c.name for c in self._table.finite if c.name in names])

    @property
    def texts(self) -> tuple[str, ...]:
        """The text columns that it asks about, in the table's order."""
        names = {name for split in self._splits for c in split for name in c.columns}
        return tuple([c.name for c in self._table.text if c.name in names])

    def ways(self, part: int) -> list[tuple[Sequence[Cluster], Sequence[Answer]]]:
        """The clusters of a part, by its index or -1 for the number of rows, with their queries as far as they are
        known: questions about values, and over cells."""
        split = self._splits[part + 1]
        return [(split, self._answers[part + 1]), (split, [self._answer(c, by_cells=True) for c in split])]

    @property
    def matched(self) -> tuple[str, ...]:
        """The text columns of which released strings are counted alone, because something depends on the string."""
        return tuple(self._open)

    def matched_in(self, parts: Sequence[int]) -> tuple[str, ...]:
        """Those of which one of these parts, by index, counts released strings alone."""
        return tuple([t for t in self._open if any((part + 1, t) in self._matching for part in parts)])

    def is_valued(self, part: int) -> bool:
        """Whether what this part, by index, adds up depends on strings that are not known."""
        return part + 1 in self._valued

    def cut(self) -> tuple[tuple[str, str], ...]:
        """(binned column, cells of it) that conditions hold for a part of."""
        answers = [a for answers in self._answers for a in answers] if self._steps else []
        found = [p for a in answers for here in a.values() for p in here]
        return cut_words(self._table, [p.query for p in found if p.low is not None])

    def _terms(self, split: int, coefficient: float, ranks: Ranks) -> list[Term]:
        if coefficient == 0:
            return []
        found: list[tuple[QueryPiece, ...]] = []
        for component, answer in zip(self._splits[split], self._answers[split], strict=True):
            here = answer.get(tuple([ranks[g] for g in component.groups]), ())
            if not here:
                return []
            found.append(here)
        terms = []
        for term in chain.from_iterable(terms_of(self._table, coefficient, c) for c in product(*found)):
            keyed = term.query.keyed
            cells = term.query.cells * (len(keyed.strings) if keyed is not None else 1)
            if cells > self._most_cells:
                parts = self._parts(term.query) if self._products else inf
                if parts > MAX_PARTS:
                    raise too_many_cells(self._table, term.query, cells, self._most_cells, parts)
            terms.append(term)
        return terms

    def _parts(self, query: LinearQuery) -> float:
        return parts_told(self._grids, query, frozenset(c for g in self._groups for c in g.columns))

    def _components(self, part: Summand) -> list[Cluster]:
        inside, value = self._condition + part.conjuncts, guarded(part, self._condition).value
        if value is not None and value.product and not self._is_apart(value.product, (*inside, *self._groups)):
            value = value._replace(product=())
        return clusters(inside, self._groups, value)

    def _is_apart(self, multiplied: Sequence[Bound], beside: Sequence[Bound]) -> bool:
        """Whether what is multiplied is a number of each component: one is summed by value, or no weight is rounded."""
        if any(b.outside for b in beside):
            return False
        if self._values.by_value and any(b.straight for b in multiplied):
            return True
        if any(len(b.columns) > 1 for b in multiplied):
            return False
        found = [self._evaluator.numbers(self._grids, b).numbers for b in multiplied]
        return all(n.dtype == np.int64 for n in found) and prod(int(np.abs(n).max()) for n in found) <= FIXED_POINT

    def _prefetch(self) -> None:
        """Asks for every missing condition of the statement at once."""
        conjuncts = {id(b): b for split in self._splits for c in split for b in predicates_of(self._grids, c)}
        self._evaluator.truths(self._grids, list(conjuncts.values()))

    def _release(self, keys: KeyLookup) -> bool:
        """Looks up the keys of text groups that the condition leaves open; whether some are not released yet.

        The groups are then those keys alone. Without a source of keys such a group is refused.
        """
        awaits = False
        for c in self._splits[0]:
            ordered = sorted((g for g in c.groups if self._groups[g].text is not None), key=self._coarseness)
            possible = self._possible(c) if ordered else None
            for g in ordered:
                bound = self._groups[g]
                unlisted = self._spread(c, bound, self._group_codes(g).codes < 0)
                if bound.text is None or possible is None or not (possible & unlisted).any():
                    continue
                keys.check(self._text, bound, self._table, bound.text.column, bound.text.keyed_by)
                found = keys.keys(self._table.name, bound.text.keyed_by)
                awaits |= found is None
                self._released[g] = self._stand_in(bound.text) if found is None else found
                possible = possible & ~unlisted
        return awaits

    def _release_matched(self, keys: KeyLookup) -> bool:
        """Lists the released strings of the columns that something open depends on; whether some are not released yet.

        Rows with other strings are in no count of it: nothing is known of these. Without a source they are refused.
        """
        listed: dict[str, frozenset[Candidate]] = {}
        awaits = False
        for column, bound in self._open.items():
            keys.check(self._text, bound, self._table, column, column)
            found = keys.keys(self._table.name, column)
            if found is None:
                self._awaited.add(column)
                awaits = True
            else:
                listed[column] = frozenset(k for k in found if k is not None)
        if listed:
            before = self._grids.candidates
            self._list({**before, **{t: before.get(t, frozenset()) | more for t, more in listed.items()}})
        return awaits

    def _stand_in(self, text: Text) -> tuple[str, ...]:
        """Keys in place of those to come, so that what would be wrong with any of these is found before."""
        if text.start is None:
            self._awaited.add(text.column)
            return ()
        classes = self._grids.axis(text.column).text
        unlisted = None if classes is None else classes.representatives[-1]
        return ((unlisted or "a")[0] * text.start,)

    def _coarseness(self, group: int) -> float:
        """Whole strings before their starts, long starts before short ones: the former settle the latter."""
        text = self._groups[group].text
        return -np.inf if text is None or text.start is None else -text.start

    def _possible(self, c: Cluster) -> npt.NDArray[np.bool_]:
        """The cells of a component's grid in which its conditions may all be TRUE."""
        axes = self._grids.check(c.columns)
        possible = np.ones([a.size for a in axes], dtype=bool)
        for bound, truth in zip(c.conjuncts, self._evaluator.truths(self._grids, c.conjuncts), strict=True):
            if changes_anywhere(self._grids, bound):
                continue
            unsettled = self._grids.unsettled(bound)
            possible &= self._spread(c, bound, truth > 0 if unsettled is None else unsettled | (truth > 0))
        return possible

    def _spread(self, c: Cluster, bound: Bound, array: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        whole = self._grids.check(c.columns)
        return spread(array.astype(np.int64), self._grids.ordered(bound.columns), whole) > 0

    def _open_texts(self) -> dict[str, Bound]:
        """The text columns on whose unlisted strings something depends, each with what does, in the table's order."""
        found: dict[str, Bound] = {}
        for place, c in [(place, c) for place, split in enumerate(self._splits) for c in split]:
            for b in self._open_in(c):
                texts = [t for t in b.outside if Outside.UNKNOWN in (b.outside[t], b.inside(t))]
                found |= {t: b for t in texts if t not in self._awaited and t not in found}
                own = any(b is g for g in self._groups)  # a string's own group has no other one's rows
                self._matching |= {(place, t) for t in texts if t in found and not (own and b.itself == t)}
                self._valued |= {place} if b is c.value else set()
        return {t: found[t] for t in sorted(found, key=self._table.order.__getitem__)}

    def _open_in(self, c: Cluster) -> list[Bound]:
        """What depends on a string that no candidate settles, unless it is in no group."""
        bounds = [*c.conjuncts, *(self._groups[g] for g in c.groups if self._groups[g].text is None)]
        if c.value is not None:
            bounds.append(c.value)
        unknown = [b for b in bounds if Outside.UNKNOWN in b.outside.values() or Outside.UNKNOWN in b.within.values()]
        if not unknown:
            return []
        possible = self._possible(c)
        for g in c.groups:
            text = self._groups[g].text
            if text is not None and text.column not in self._awaited:
                possible = possible & self._spread(c, self._groups[g], self._group_codes(g).codes >= 0)
        unsettled = [(b, self._grids.unsettled(b, but=self._awaited)) for b in unknown]
        return [b for b, cells in unsettled if cells is not None and (possible & self._spread(c, b, cells)).any()]

    def _split_answers(self, split: Sequence[Cluster]) -> list[Answer]:
        """Questions about values of at most one number; beside listed strings a number is summed over cells, with a
        value for each, unless only single values are summed; by rules before 33 all is counted so."""
        numbers = {i: c.value for i, c in enumerate(split) if c.value is not None and c.value.steps}
        summed = summed_by_value(self._table, numbers, self._number)
        found = [self._answer(c, by_cells=i in numbers and i != summed) for i, c in enumerate(split)]
        if summed is not None and not numbers[summed].straight and is_beyond(pieces_held(found)):
            found[summed] = self._answer(split[summed], by_cells=True)  # chords may reach beyond all values
        if not values_beside_strings(found):
            return found
        if self._values.listed_by_value:
            if self._values.stretches <= FEW_STRETCHES or sums_values(found):
                found = [self._answer(c, by_cells=i in numbers) for i, c in enumerate(split)]
            if not weighed_by_too_many(pieces_held(found), listed=True):
                return found
        return [self._answer(c, by_cells=True) for c in split]

    def _tie(self, parts: Sequence[Summand]) -> None:
        """Makes products whose rows would be weighed by too many columns one value for each cell of all of them."""
        for i, part in enumerate(parts, 1):
            if (value := part.value) and value.product and weighed_by_too_many(pieces_held(self._answers[i])):
                self._splits[i] = self._components(replace(part, value=value._replace(product=())))
                self._answers[i] = self._split_answers(self._splits[i])

    def _answer(self, c: Cluster, *, by_cells: bool = False) -> Answer:
        key = (
            by_cells,
            self._values,
            self._table.name,
            tuple([self._grids.key(b) for b in c.conjuncts]),
            tuple([self._grids.key(self._groups[g]) for g in c.groups]),
            None if c.value is None else (c.value.distance, self._grids.key(c.value)),
            tuple([self._released.get(g) for g in c.groups]),
        )
        answer = self._cache.get(key)
        if answer is None:
            shared = self._table, self._evaluator, self._grids, self._groups, self._group_codes, self._values
            answer = ClusterPieces(*shared).of(c, by_cells=by_cells)
            self._cache.put(key, answer, numbers_held(answer) + 64)
        return answer

    def _group_codes(self, position: int) -> Codes:
        codes = self._codes.get(position)
        if codes is None:
            codes = self._evaluator.codes(self._grids, self._groups[position])
            released = self._released.get(position)
            if released is not None:
                kept = frozenset(released)
                listed = np.array([v in kept for v in codes.values])
                only = np.where((codes.codes >= 0) & listed[codes.codes], codes.codes, -1)
                codes = Codes(only, codes.values, codes.sql_type)
            self._codes[position] = codes
        return codes

    def _find_groups(self, *, none: bool) -> None:
        """Combinations of group values that the condition leaves possible, in domain order; or ``none`` yet."""
        width = len(self._groups)
        self._ranks = np.zeros((0, width), dtype=np.int64) if none else combinations(self._components_of(0), width)
        self.groups = ()
        if len(self._ranks):
            values = [map(self._group_codes(g).values.__getitem__, self._ranks[:, g].tolist()) for g in range(width)]
            self.groups = tuple(zip(*values, strict=True))

    def _components_of(self, split: int) -> list[Component]:
        return [(c.groups, a) for c, a in zip(self._splits[split], self._answers[split], strict=True)]
