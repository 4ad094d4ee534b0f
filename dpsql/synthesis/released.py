"""A synthetic table as it leaves the session: rows of values under the policy's names and types. Public.

A cell of a binned column stands for many values; each row gets one of them, drawn by a seed, so that averages come out
as they should and equal tables stay equal.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dpsql.dialect.types import released_type
from dpsql.domain import ColumnDomain, DateDomain, FiniteDomain, NumberDomain
from dpsql.domain.column import cell_values
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.query import Estimates
from dpsql.synthesis.coins import coins
from dpsql.synthesis.quality import Quality
from dpsql.synthesis.rows.values import days, has_whole_numbers, numbers
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.workload import Workload

SENTENCE = "synthetic rows, made from released numbers alone: none of them is anybody's"


@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """Rows to take away, and what there is to say of them.

    ``charged``: epsilon that making it has charged now; ``report``: its errors; ``facts``: method, run, workload and
    versions by name, which a file keeps as metadata; ``notes``: what a reader must know, one sentence each;
    ``workload``: the queries it was made for, and those held out.
    ``positions``: for number columns, the mean position of each bin's rows in it, from 0 to 1; ``cells``: of those
    whose rows a first look counted at round numbers. ``whole``: number columns of whole numbers in the database.
    """

    synthetic: Synthetic
    charged: float
    report: Quality
    facts: Mapping[str, str]
    notes: tuple[str, ...] = ()
    workload: Workload = field(default_factory=lambda: Workload(()))
    seed: int = 1
    positions: Mapping[str, Estimates] | None = None
    cells: Mapping[str, MarkedCells] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    @property
    def rows(self) -> int:
        return len(self.synthetic.codes)

    def to_arrow(self) -> pa.Table:
        """The rows: columns in the policy's order and with its types, text columns as their released keys."""
        table = self.synthetic.table
        position = {column.name: i for i, column in enumerate(table.finite)}
        arrays, fields = [], []
        for column in table.columns:
            kind = self._type(column)
            if column.name in position:
                domain = table.finite_domain(column.name)
                values = self._values(domain, self.synthetic.codes[:, position[column.name]])
            else:
                values = pa.array(self.synthetic.keys.get(column.name) or [None] * self.rows, kind)
            arrays.append(values.cast(kind))
            fields.append(pa.field(column.name, kind))
        metadata = {"dpsql": json.dumps({**self.facts, "charged": self.charged, "notes": self.notes}, sort_keys=True)}
        return pa.table(arrays, schema=pa.schema(fields, metadata))

    def _type(self, column: ColumnDomain) -> pa.DataType:
        if isinstance(column, NumberDomain) and column.is_binned and column.name in self.whole:
            return pa.int64() if has_whole_numbers(column) else pa.float64()
        return released_type(column.sql_type)

    def _values(self, domain: FiniteDomain, codes: Any) -> pa.Array:
        rng = coins("values", self.seed, self.facts.get("run", ""), domain.name)
        if isinstance(domain, NumberDomain) and domain.is_binned:
            mean, cells = (self.positions or {}).get(domain.name), self.cells.get(domain.name)
            return numbers(domain, codes, rng, mean, cells, whole=domain.name in self.whole)
        if isinstance(domain, DateDomain) and domain.is_binned:
            return days(domain, codes, rng)
        values = pa.array(cell_values(domain), released_type(domain.sql_type))
        return values.take(pa.array(codes))
