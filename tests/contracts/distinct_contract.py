"""Counts of different values as every engine must make them: compared with the twin in memory."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpsql.domain import BooleanDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine
from dpsql.engine.protocol import OwnersEngine
from dpsql.errors import InternalError, UnknownName
from dpsql.policy import Policy, Privacy
from dpsql.query import Factor, Form, KeyedFactor, LinearQuery, Regions, Term, regions_of

TABLE = TableDomain(
    "t", (IntegerDomain("a", 0, 3), BooleanDomain("b"), TextDomain("s", prefixes=(1,))), "u", max_rows_per_unit=3
)
ALONE = replace(TABLE, unit=None, max_rows_per_unit=1)
STRINGS = ("x", "y", "yy", "Ž", "Že", "", None)
EACH = [Factor(("a",), np.eye(5, dtype=np.int64)[i]) for i in range(5)]
SOME = Factor(("b",), np.array([1, 0, 1]))
TIED = Factor(("a", "b"), np.arange(15).reshape(5, 3) % 2)
KEYED = KeyedFactor(("s",), (("x",), ("Ž",), (None,)), (), np.array([1, 1, 1]))


def form(*factors: Factor, keyed: KeyedFactor | None = None) -> Form:
    return Form(0.0, (Term(1.0, LinearQuery("t", factors, keyed)),))


NOT_KEYED = Form(0.0, (Term(1.0, LinearQuery("t", (SOME,))), Term(-1.0, LinearQuery("t", (SOME,), KEYED))))
SELECTIONS: Mapping[str, Sequence[Form]] = {
    "all rows": [form()],
    "groups": [form(f) for f in EACH],
    "groups under a condition": [form(f, SOME) for f in EACH],
    "columns together": [form(TIED)],
    "listed strings": [form(keyed=KEYED)],
    "groups of listed strings": [form(f, keyed=KEYED) for f in EACH],
    "other strings": [NOT_KEYED],
}


def policy_of(table: TableDomain) -> Policy:
    return Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,))


def rows(seed: int = 3) -> dict[str, list[Any]]:
    draws = Random(seed)  # noqa: S311 - test data
    return {
        "a": [draws.choice([0, 1, 2, 3, 9, None]) for _ in range(300)],
        "b": [draws.choice([True, False, None]) for _ in range(300)],
        "s": [draws.choice(STRINGS) for _ in range(300)],
        "u": [draws.choice([None, *range(60)]) for _ in range(300)],
    }


class DistinctContract(ABC):
    @abstractmethod
    def engine(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        """An engine over the tables."""

    def test_each_value_counts_once_in_a_region(self) -> None:
        data = pa.table({"a": [0, 0, 1, 1, None, 0], "b": [True] * 6, "s": ["x", "x", "x", None, "y", "z"],
                         "u": [1, 1, 1, 2, None, 3]})  # fmt: skip
        engine = self.engine(policy_of(TABLE), {"t": data})
        by_a = regions_of([form(f) for f in EACH])
        assert engine.distinct_counts("t", "u", by_a).reveal().tolist() == [[2], [2], [0], [0], [0]]
        assert engine.distinct_counts("t", "s", by_a).reveal().tolist() == [[2], [1], [0], [0], [1]]
        assert engine.distinct_counts("t", "u", by_a, 2).reveal().tolist()[0] == [1, 1]
        everywhere = engine.distinct_counts("t", "u", regions_of([form()]), 2).reveal()
        assert everywhere.tolist() == [[2, 1]]  # three rows count as two or more
        assert everywhere.dtype == np.int64 and not everywhere.flags.writeable

    @pytest.mark.parametrize("table", [TABLE, ALONE], ids=["units", "rows"])
    @pytest.mark.parametrize("selection", SELECTIONS)
    def test_it_agrees_with_the_twin(self, table: TableDomain, selection: str) -> None:
        data = {"t": pa.table(rows())}
        engine, twin = self.engine(policy_of(table), data), MemoryEngine(policy_of(table), data)
        regions = regions_of(SELECTIONS[selection])
        for column in (*([] if table.unit is None else ["u"]), *table.text_names):
            for most in (1, 3):
                found = engine.distinct_counts("t", column, regions, most).reveal()
                assert (found == twin.distinct_counts("t", column, regions, most).reveal()).all()
                assert found.shape == (regions.size, most) and found.sum() > 0

    def test_other_columns_and_parts_that_do_not_fit_are_refused(self) -> None:
        engine = self.engine(policy_of(ALONE), {"t": pa.table(rows())})
        whole = regions_of([form()])
        for column in ("u", "a", "nothing"):
            with pytest.raises(UnknownName):
                engine.distinct_counts("t", column, whole)
        with pytest.raises(InternalError):
            engine.distinct_counts("t", "s", Regions((), np.zeros(3, dtype=np.int64), 1))
