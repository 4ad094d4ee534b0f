"""Sessions for interface tests: canned results, no privacy."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from dpsql import Answer, Budget, Error, Explanation, Result
from dpsql.domain import BooleanDomain, Parameters, TableDomain
from dpsql.result import NO_TERMS, QueryPlan, Terms

BUDGET = Budget(1.0, 1e-6, 0.25, 0.75, 17, 12, 9, (("net", 0.1, 0.2),))
TABLES = (TableDomain("people", (BooleanDomain("member"),)),)
EXPLANATION = Explanation((QueryPlan("people", ("member",), 3, None, 3, "hypothesis", 12.0, 0.01),), None, 0.01, 0.75)


def measured(value: int, charged: float = 0.0) -> Answer:
    return Answer(value, 3.0, (value - 3.0, value + 3.0), "exact", "measurement", certified=True, charged=charged)


def counts(name: str = "n", values: tuple[int, ...] = (10, 20, 30)) -> Result:
    """Groups g0, g1, ... with a released count each."""
    table = pa.table({"g": pa.array([f"g{i}" for i in range(len(values))]), name: pa.array(values, pa.int64())})
    answers = tuple(measured(v, 0.125 if i == 0 else 0.0) for i, v in enumerate(values))
    return Result(table, ("VARCHAR", "BIGINT"), {1: answers})


class FakeSession:
    """Answers each text with its canned result, or raises its canned error; remembers every call."""

    def __init__(self, results: Mapping[str, Result | Error] | None = None, default: Result | None = None) -> None:
        self.results = dict(results or {})
        self.default = counts() if default is None else default
        self.executed: list[tuple[str, Parameters]] = []
        self.explained: list[tuple[str, Parameters]] = []
        self.terms: list[Terms] = []
        self.closed = 0
        self.public: dict[str, tuple[tuple[str, str], ...]] = {}
        self.notices: tuple[str, ...] = ("a notice",)

    def execute(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Result:
        self.terms.append(terms)
        self.executed.append((text, parameters))
        found = self.results.get(text, self.default)
        if isinstance(found, Error):
            raise found
        return found

    def explain(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Explanation:
        self.explained.append((text, parameters))
        return EXPLANATION

    def budget(self) -> Budget:
        return BUDGET

    def spent_epsilon(self) -> float:
        return self.budget().spent_epsilon

    def tables(self) -> tuple[TableDomain, ...]:
        return TABLES

    def public_tables(self) -> dict[str, tuple[tuple[str, str], ...]]:
        return self.public

    def on_progress(self, report: Callable[[str, str, int, int], None]) -> None:
        self.report = report

    def close(self) -> None:
        self.closed += 1


class ExactSession(FakeSession):
    """Answers from a DuckDB connection, without noise: for tests of the interface alone."""

    def __init__(self, owner: Any) -> None:
        super().__init__()
        self.owner = owner

    def execute(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Result:
        self.terms.append(terms)
        self.executed.append((text, parameters))
        relation = self.owner.cursor().sql(text, params=parameters)
        return Result(relation.to_arrow_table(), tuple(str(t) for t in relation.types))
