"""A synthetic table as it leaves the session: rows of values under the policy's names and types. Public.

A cell of a binned column stands for many values; each row gets one of them, drawn by a seed, so that averages come out
as they should and equal tables stay equal.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from dpsql.dialect.types import released_type
from dpsql.domain import DateDomain, FiniteDomain, NumberDomain
from dpsql.domain.column import cell_values
from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins, coins
from dpsql.synthesis.quality import Quality
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.workload import Workload

SENTENCE = "synthetic rows, made from released numbers alone: none of them is anybody's"


@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """Rows to take away, and what there is to say of them.

    ``charged``: epsilon that making it has charged now; ``report``: its errors; ``facts``: method, run, workload and
    versions by name, which a file keeps as metadata; ``notes``: what a reader must know, one sentence each;
    ``workload``: the queries it was made for, and those held out.
    ``positions``: for number columns, the mean position of each bin's rows in it, from 0 to 1.
    """

    synthetic: Synthetic
    charged: float
    report: Quality
    facts: Mapping[str, str]
    notes: tuple[str, ...] = ()
    workload: Workload = field(default_factory=lambda: Workload(()))
    seed: int = 1
    positions: Mapping[str, Estimates] | None = None

    @property
    def rows(self) -> int:
        return len(self.synthetic.codes)

    def to_arrow(self) -> pa.Table:
        """The rows: columns in the policy's order and with its types, text columns as their released keys."""
        table = self.synthetic.table
        position = {column.name: i for i, column in enumerate(table.finite)}
        arrays, fields = [], []
        for column in table.columns:
            kind = released_type(column.sql_type)
            if column.name in position:
                domain = table.finite_domain(column.name)
                values = self._values(domain, self.synthetic.codes[:, position[column.name]])
            else:
                values = pa.array(self.synthetic.keys.get(column.name) or [None] * self.rows, kind)
            arrays.append(values.cast(kind))
            fields.append(pa.field(column.name, kind))
        metadata = {"dpsql": json.dumps({**self.facts, "charged": self.charged, "notes": self.notes}, sort_keys=True)}
        return pa.table(arrays, schema=pa.schema(fields, metadata))

    def _values(self, domain: FiniteDomain, codes: Any) -> pa.Array:
        rng = coins("values", self.seed, self.facts.get("run", ""), domain.name)
        if isinstance(domain, NumberDomain) and domain.is_binned:
            return _inside(domain, codes, rng, (self.positions or {}).get(domain.name))
        if isinstance(domain, DateDomain) and domain.is_binned:
            return _days(domain, codes, rng)
        values = pa.array(cell_values(domain), released_type(domain.sql_type))
        return values.take(pa.array(codes))


def _inside(domain: NumberDomain, codes: Any, rng: Coins, mean: Estimates | None) -> pa.Array:
    """A value inside each row's bin; u^((1 - p) / p) has mean p, and is even where p is one half."""
    bins = len(domain.edges) - 1
    p = np.full(bins, 0.5) if mean is None else np.clip(mean, 0.02, 0.98)
    of = np.minimum(codes, bins - 1)
    shares = rng.random(len(codes)) ** ((1.0 - p[of]) / p[of])
    low, high = np.array(domain.edges[:-1])[of], np.array(domain.edges[1:])[of]
    return pa.array(np.clip(low * (1.0 - shares) + high * shares, low, high), mask=codes >= bins)


def _days(domain: DateDomain, codes: Any, rng: Coins) -> pa.Array:
    """A day of each row's cell, all of them equally likely."""
    starts = [d.toordinal() for d in domain.values if isinstance(d, date)]
    lengths = np.array([b - a for a, b in pairwise([*starts, max(domain.end.toordinal(), starts[-1] + 1)])])
    of = np.minimum(codes, len(starts) - 1)
    days = np.array(starts)[of] + (rng.random(len(codes)) * lengths[of]).astype(np.int64)
    epoch = date(1970, 1, 1).toordinal()
    return pa.array((days - epoch).astype(np.int32), mask=codes >= len(starts)).cast(pa.date32())
