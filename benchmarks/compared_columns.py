"""Conditions that compare two columns: ``python -m benchmarks.compared_columns [--table stays] [--rules 29]``.

``stays``: two dates, the second 0 to 7 days after the first, a number and 1.19 times it, and two wards of which a
tenth moves on by one. ``sums``: two numbers, their sum, and one that is the first or NULL. ``apart``: the same kinds of
columns, drawn apart from each other. Others are of ``benchmarks.strangers``, with the pairs of their whole numbers and
dates. Each pair is compared by <, <=, = and <>, alone and beside a value of another column: root mean square error,
median bar, the share that is covered, and how many were measured.
"""

import tempfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.strangers.__main__ import TABLES as STRANGERS
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import DateDomain, IntegerDomain
from dpsql.policy import Policy
from dpsql.policy_file import load_policy

OWN: Mapping[str, tuple[str, str]] = {
    "stays": (
        "SELECT s AS came, s + (k * k * 7)::INTEGER AS went, net, round(net * 1.19, 2) AS gross, ward, "
        "if(k < .9, ward, least(10, ward + 1)) AS later, kind FROM (SELECT DATE '2024-01-01' + "
        "floor(random() * 350)::INTEGER AS s, random() AS k, round(exp(1 + random() * 5), 2) AS net, "
        "floor(1 + random() * 10)::INTEGER AS ward, ['a', 'b', 'c'][1 + floor(random() * 3)::INTEGER] AS kind "
        "FROM range(50000))",
        'came = { type = "date", min = 2024-01-01, max = 2024-12-31 }\n'
        'went = { type = "date", min = 2024-01-01, max = 2024-12-31 }\n'
        'net = { type = "number", min = 0, max = 1000 }\ngross = { type = "number", min = 0, max = 1000 }\n'
        'ward = { type = "integer", min = 1, max = 10 }\nlater = { type = "integer", min = 1, max = 10 }\n'
        'kind = { type = "category", values = ["a", "b", "c"] }\n',
    ),
    "sums": (
        "SELECT x, y, x + y AS total, known, if(known, x, NULL) AS said FROM (SELECT floor(random() * 100)::INTEGER "
        "AS x, floor(random() * random() * 50)::INTEGER AS y, random() < .2 AS known FROM range(20000))",
        'x = { type = "integer", min = 0, max = 99 }\ny = { type = "integer", min = 0, max = 49 }\n'
        'total = { type = "integer", min = 0, max = 148 }\nknown = { type = "boolean" }\n'
        'said = { type = "integer", min = 0, max = 99 }\n',
    ),
    "apart": (
        "SELECT DATE '2024-01-01' + floor(random() * 350)::INTEGER AS came, DATE '2024-01-01' + "
        "floor(random() * 350)::INTEGER AS went, floor(random() * 100)::INTEGER AS x, floor(random() * 50)::INTEGER "
        "AS y, ['a', 'b', 'c'][1 + floor(random() * 3)::INTEGER] AS kind FROM range(80000)",
        'came = { type = "date", min = 2024-01-01, max = 2024-12-31 }\n'
        'went = { type = "date", min = 2024-01-01, max = 2024-12-31 }\nx = { type = "integer", min = 0, max = 99 }\n'
        'y = { type = "integer", min = 0, max = 49 }\nkind = { type = "category", values = ["a", "b", "c"] }\n',
    ),
}
OTHERS = ("adult14", "fire", "flights", "loans")
NUMBERS = {"stays": [("net", "gross")]}
"""Pairs of number columns, which are compared by < and >= alone: lines that cut bins are asked for otherwise."""


def made(name: str, folder: Path) -> tuple[Path, Policy, str]:
    """A table, its policy at epsilon 1 for 1,000 questions, and the table's name."""
    if name not in OWN:
        table = STRANGERS[name](folder)
        return table.path, table.policy(Fraction(1), 1_000, strategy="auto"), table.domain.name
    rows, columns = OWN[name]
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("SELECT setseed(.5)")
        con.execute(f"CREATE TABLE t AS {rows}")
    policy = folder / "t.toml"
    policy.write_text(f"version = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\n[tables.t.columns]\n{columns}")
    return path, load_policy(policy), "t"


def statements(name: str, policy: Policy, table: str, most: int) -> Iterator[tuple[str, str]]:
    """(kind, statement) for up to ``most`` pairs."""
    (domain,) = policy.tables
    ordered = [c for c in domain.finite if isinstance(c, IntegerDomain | DateDomain) and c.size > 4]
    of_kind = [(a.name, b.name) for a, b in combinations(ordered, 2) if type(a) is type(b)]
    chosen = np.random.default_rng(1).permutation(len(of_kind))[:most]
    pairs = [(*of_kind[i], ("<", "<=", "=", "<>")) for i in sorted(chosen.tolist())]
    pairs += [(*pair, ("<", ">=")) for pair in NUMBERS.get(name, [])]
    for left, right, signs in pairs:
        other = next(c for c in domain.finite if c.name not in (left, right) and not isinstance(c, DateDomain))
        value = other.values[0]
        shown = f"'{value}'" if isinstance(value, str) else value
        for sign in signs:
            compared = f'FROM {table} WHERE "{left}" {sign} "{right}"'
            yield "alone", f"SELECT COUNT(*) {compared}"
            yield "beside a value", f'SELECT COUNT(*) {compared} AND "{other.name}" = {shown}'


def studied(name: str, seeds: int, rules: int, most: int) -> list[dict[str, object]]:
    found: dict[str, list[tuple[float, float, bool]]] = {}
    with tempfile.TemporaryDirectory() as folder, of_rules(rules):
        path, policy, table = made(name, Path(folder))
        asked = list(statements(name, policy, table, most))
        with duckdb.connect(str(path), read_only=True) as con:
            true = [con.execute(sql).fetchall()[0][0] for _, sql in asked]
        for _ in range(seeds):
            with dpsql.connect(path, policy=policy, ledger=":memory:") as con:
                for (kind, sql), truth in zip(asked, true, strict=True):
                    (answer,) = con.execute(sql).answers
                    off = float(answer.value or 0.0) - truth
                    found.setdefault(kind, []).append((off, float(answer.error or 0.0), answer.source == "measurement"))
    out: list[dict[str, object]] = []
    for kind, numbers in found.items():
        off, bars, measured = np.array(numbers).T
        rms, bar, inside = float(np.sqrt((off**2).mean())), float(np.median(bars)), float((np.abs(off) <= bars).mean())
        row = {"table": name, "kind": kind, "numbers": len(off), "rms": rms, "bar": bar, "covered": round(inside, 3)}
        out.append({**row, "measured": round(float(measured.mean()), 2)})
    return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice([*OWN, *STRANGERS]), default=[*OWN, *OTHERS])
@click.option("--seeds", default=2)
@click.option("--pairs", default=6)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: tuple[str, ...], seeds: int, pairs: int, rules: int) -> None:
    rows = [row for name in names for row in studied(name, seeds, rules, pairs)]
    title = f"Comparisons of two columns, epsilon 1, {seeds} sessions each, rules {rules}"
    show(title, rows, "compared_columns", [command_text("compared_columns", seeds=seeds, pairs=pairs, rules=rules)])


if __name__ == "__main__":
    main()
