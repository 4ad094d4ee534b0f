"""Lists of strings against noise for each: ``python -m benchmarks.zipf [--table zipf1.1] [--asked 600]``.

Statements list 1 to 200 strings, drawn by their rows or evenly, a twentieth of them absent from the table; half have a
condition on another column too. Errors are compared with a Gaussian per statement that is told the number planned, cut
at 0. ``gain``: its mean error in dpsql's. Tables: ``zipfA`` has 400,000 rows, 4,000 codes by a Zipf law of exponent A
and one column of ten values that depends on the code. ``uneven`` has three codes of 10,000 rows, all of one kind, and
others of two sizes, 1 and 30, which no such law has; the others are real. ``--weight``: of the strings, in the policy.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import click
import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

import dpsql
from benchmarks.question import Condition, Question
from benchmarks.report import show
from benchmarks.strangers.sessions import gaussian_sigma
from benchmarks.tables import BenchmarkTable, files, frequencies
from benchmarks.text_tables import flights, pets
from benchmarks.workload import Column, TextColumn
from dpsql.domain import CategoryDomain, TableDomain, TextDomain

ROWS, CODES, KINDS = 400_000, 4_000, 10
EXPONENTS = (0.8, 0.9, 1.1, 1.3, 1.4)
LONGEST = 200
ABSENT = 0.05
ALONE, BESIDE = "list alone", "list with a column"


def zipf(folder: Path, exponent: float) -> BenchmarkTable:
    """Codes by a Zipf law; the kind of a row follows a mixture that belongs to its code."""
    rng = np.random.default_rng(int(exponent * 100))
    weights = np.arange(1, CODES + 1) ** -exponent
    codes = rng.choice(CODES, size=ROWS, p=weights / weights.sum())
    return _table(folder, codes, rng.dirichlet(np.full(KINDS, 0.5), size=CODES), rng)


def uneven(folder: Path) -> BenchmarkTable:
    """Codes of three sizes; those of the largest have one kind alone."""
    rng = np.random.default_rng(1)
    sizes = np.array([10_000] * 3 + [30] * 200 + [1] * 3_000)
    mixtures = rng.dirichlet(np.full(KINDS, 0.5), size=len(sizes))
    mixtures[:3] = np.eye(KINDS)[0]
    return _table(folder, np.repeat(np.arange(len(sizes)), sizes), mixtures, rng)


def _table(
    folder: Path, codes: npt.NDArray[np.int64], mixtures: npt.NDArray[np.float64], rng: np.random.Generator
) -> BenchmarkTable:
    """Rows of these codes, each of a kind that its code's mixture says."""
    drawn = (rng.random((len(codes), 1)) > mixtures.cumsum(axis=1)[codes]).sum(axis=1).clip(0, KINDS - 1)
    names = np.array([f"code{i:04d}" for i in rng.permutation(len(mixtures))])
    values = tuple(f"kind{i}" for i in range(KINDS))
    rows = pa.table({"code": names[codes], "kind": np.array(values)[drawn]})
    path = folder / "zipf.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("rows", rows)
        con.execute("CREATE TABLE zipf AS SELECT * FROM rows")
        text = TextColumn("code", frequencies(con, "zipf", "code"), 0.2)
    domain = TableDomain("zipf", (TextDomain("code"), CategoryDomain("kind", values, nullable=False)))
    return BenchmarkTable(path, domain, (Column("kind", values),), text)


TABLES: Mapping[str, Callable[[Path], BenchmarkTable]] = {
    **{f"zipf{e}": partial(zipf, exponent=e) for e in EXPONENTS},
    "uneven": uneven,
    "files": files,
    "pets": pets,
    "flights": flights,
}


@dataclass(frozen=True)
class Asked:
    kind: str
    sql: str


@dataclass(frozen=True)
class Number:
    """What an answer and the Gaussian were off by, in counts, and the answer's 95 % error where it has one."""

    kind: str
    off: float
    peer: float
    error: float | None


def statements(table: BenchmarkTable, seed: int) -> Iterator[Asked]:
    """Without end: lists of all lengths, evenly on a logarithmic scale; every other one has a condition beside."""
    assert table.text is not None
    rng = np.random.default_rng(seed)
    names, counts = zip(*table.text.counts, strict=True)
    by_row = np.array(counts) / sum(counts)
    number = 0
    while True:
        length = int(np.rint(np.exp(rng.uniform(0.0, np.log(LONGEST)))))
        absent = int(rng.binomial(length, ABSENT))
        present = min(length - absent, len(names))
        p = by_row if rng.random() < 0.5 else None
        listed = [str(names[i]) for i in rng.choice(len(names), size=present, replace=False, p=p)]
        listed += [f"absent{i}" for i in rng.integers(10**6, size=absent)]
        conditions = [Condition(table.text.name, tuple(sorted(set(listed))))]
        if number % 2:
            column = table.columns[int(rng.integers(len(table.columns)))]
            some = int(rng.integers(1, max(2, len(column.values) // 2 + 1)))
            picked = sorted(rng.choice(len(column.values), size=some, replace=False).tolist())
            conditions.append(Condition(column.name, tuple(column.values[i] for i in picked)))
        yield Asked(BESIDE if number % 2 else ALONE, Question(table.domain.name, tuple(conditions)).sql)
        number += 1


def ask(table: BenchmarkTable, epsilon: Fraction, planned: int, asked: int, seed: int) -> list[Number]:
    """One session's numbers: real noise for dpsql, numpy's for the Gaussian."""
    sigma = gaussian_sigma(epsilon, planned)
    rng = np.random.default_rng([seed, 1])
    found: list[Number] = []
    policy = table.policy(epsilon, planned, strategy="auto")
    copy = table.path.with_suffix(".parquet")
    with duckdb.connect(str(table.path)) as stored:
        stored.execute(f"COPY {table.domain.name} TO '{copy}'")
    with duckdb.connect() as truth, dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        truth.execute(f"CREATE TABLE {table.domain.name} AS SELECT * FROM read_parquet('{copy}')")
        for _, one in zip(range(asked), statements(table, seed), strict=False):
            ((true,),) = truth.execute(one.sql).fetchall()
            cursor = con.execute(one.sql)
            ((said,),) = cursor.fetchall()
            noisy = max(0.0, true + float(np.rint(rng.normal(0.0, sigma))))
            found.append(Number(one.kind, abs(float(said) - true), abs(noisy - true), cursor.answers[0].error))
    return found


def weighed(made: BenchmarkTable, weight: Fraction) -> BenchmarkTable:
    """The table with strings of that weight, in its policy."""
    columns = [replace(c, weight=weight) if isinstance(c, TextDomain) else c for c in made.domain.columns]
    return replace(made, domain=replace(made.domain, columns=tuple(columns)))


def cell(table: str, kind: str, numbers: Sequence[Number]) -> dict[str, object]:
    off, peer = (np.array([getattr(n, which) for n in numbers]) for which in ("off", "peer"))
    inside = [n.off <= n.error for n in numbers if n.error is not None]
    widths = [n.error for n in numbers if n.error is not None]
    return {
        "table": table,
        "kind": kind,
        "numbers": len(numbers),
        "mean": float(off.mean()),
        "p95": float(np.quantile(off, 0.95)),
        "max": float(off.max()),
        "Gaussian": float(peer.mean()),
        "gain": round(float(peer.mean() / off.mean()), 2),
        "p95 gain": round(float(np.quantile(peer, 0.95) / max(np.quantile(off, 0.95), 1e-9)), 2),
        "covered": round(float(np.mean(inside)), 3) if inside else "",
        "width": round(float(np.mean(widths)) / float(off.mean()), 1) if widths else "",
        "no bar": len(numbers) - len(inside),
    }


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=tuple(TABLES))
@click.option("--epsilon", default="1")
@click.option("--planned", default=3_000)
@click.option("--asked", default=600)
@click.option("--seeds", default=1)
@click.option("--weight", default="1")
def main(tables: Sequence[str], epsilon: str, planned: int, asked: int, seeds: int, weight: str) -> None:
    rows: list[dict[str, object]] = []
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            made = weighed(TABLES[name](Path(folder)), Fraction(weight))
            found = [n for s in range(seeds) for n in ask(made, Fraction(epsilon), planned, asked, s + 1)]
        rows += [cell(name, k, [n for n in found if n.kind == k]) for k in (ALONE, BESIDE)]
        rows.append(cell(name, "both", found))
    title = f"Lists of strings, epsilon {epsilon}, {planned:,} statements planned, {asked:,} asked, {seeds} sessions"
    title += "" if weight == "1" else f", strings of weight {weight}"
    show(title, rows, f"zipf_{planned}_eps{epsilon}", ["gain: the Gaussian's mean error in dpsql's"])


if __name__ == "__main__":
    main()
