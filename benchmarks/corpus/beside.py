"""The corpus beside SmartNoise SQL: ``python -m benchmarks.corpus.beside --python smartnoise/bin/python``.

SmartNoise needs an OpenDP of its own, so it runs in the Python that is named; without it the command says how to make
one. It is told of the same tables, public ones included, and gets the same statements; those of the drafted family
need a draft, which it does not make.
"""

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import duckdb

from benchmarks.corpus.statements import ANSWERED, KINDS, ROOT, Case, Row, every
from benchmarks.corpus.tables import DRAFTED, ROWS, fill, policy
from benchmarks.corpus.verdicts import verdicts
from benchmarks.peers.external import SMARTNOISE, PeerFailedError
from benchmarks.report import show
from dpsql.dialect.types import is_number
from dpsql.domain import BooleanDomain, ColumnDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain


def metadata(tables: Sequence[TableDomain], public: dict[str, Any]) -> dict[str, Any]:
    """What SmartNoise is told of each table: the types and ranges of its policy, and its unit."""
    out: dict[str, Any] = {}
    for table in tables:
        columns = {c.name: _column(c) for c in (*table.finite, *table.text)}
        if table.unit is None:
            out[table.name] = {"row_privacy": True, "rows": ROWS, "censor_dims": False, **columns}
        else:
            most = {"max_ids": table.max_rows_per_unit, "censor_dims": False, "rows": ROWS}
            out[table.name] = {**most, table.unit: {"type": "int", "private_id": True}, **columns}
    out |= {name: {"row_privacy": True, "censor_dims": False, **columns} for name, columns in public.items()}
    return {"": {"main": out}}


def _column(domain: ColumnDomain) -> dict[str, Any]:
    match domain:
        case IntegerDomain():
            return {"type": "int", "lower": domain.low, "upper": domain.high}
        case NumberDomain():
            return {"type": "float", "lower": domain.edges[0], "upper": domain.edges[-1]}
        case BooleanDomain():
            return {"type": "boolean"}
        case DateDomain():
            return {"type": "datetime"}
        case _:
            return {"type": "string"}


def export(folder: Path, cases: Sequence[Case]) -> None:
    """The corpus for another Python: tables in SQLite, what is declared of them, the statements."""
    rules = policy()
    con = duckdb.connect()
    fill(con, rules)
    names = [t.name for t in rules.tables] + list(rules.public_tables)
    public: dict[str, Any] = {}
    with sqlite3.connect(folder / "corpus.sqlite") as out:
        for name in names:
            found = con.sql(f'FROM "{name}"').to_arrow_table()
            if name in rules.public_tables:
                public[name] = {
                    f.name: {"type": "float", "lower": 0.0, "upper": 1e6} if is_number(f.type) else {"type": "string"}
                    for f in found.schema
                }
            columns = ", ".join(f'"{c}"' for c in found.column_names)
            out.execute(f'CREATE TABLE "{name}" ({columns})')
            rows = zip(*(_plain(c.to_pylist()) for c in found.columns), strict=True)
            out.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * found.num_columns)})', rows)
    (folder / "metadata.json").write_text(json.dumps(metadata(rules.tables, public)), encoding="utf-8")
    (folder / "statements.json").write_text(json.dumps([c.sql for c in cases]), encoding="utf-8")


def _plain(values: list[Any]) -> list[Any]:
    """Values that SQLite holds: dates as their text."""
    return [v if v is None or isinstance(v, (int, float, str)) else str(v) for v in values]


def asked(python: str, cases: Sequence[Case]) -> list[dict[str, str]]:
    """How far each statement comes in the other Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(folder, cases)
        command = [python, "-m", "benchmarks.peers.smartnoise_corpus", str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3600)
        if done.returncode:
            raise PeerFailedError(f"smartnoise: {done.stderr.strip()[-500:]}")
        found: list[dict[str, str]] = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    return found


def beside(cases: Sequence[Case], theirs: Sequence[dict[str, str]]) -> list[Row]:
    """By kind: how many statements each answers, and how many SmartNoise alone."""
    out: list[Row] = []
    for kind in (*sorted({c.kind for c in cases}), None):
        rows = [(c, t) for c, t in zip(cases, theirs, strict=True) if kind in (None, c.kind)]
        out.append(
            {
                "kind": "all" if kind is None else KINDS[kind],
                "statements": len(rows),
                "dpsql": sum(c.verdict == ANSWERED for c, _ in rows),
                "SmartNoise accepts": sum(t["verdict"] != "refused" for _, t in rows),
                "and answers": sum(t["verdict"] == "executed" for _, t in rows),
                "alone": sum(t["verdict"] == "executed" and c.verdict != ANSWERED for c, t in rows),
            }
        )
    return out


@click.command()
@click.option("--python", default=sys.executable, help="A Python with smartnoise-sql; by default this one.")
def main(python: str) -> None:
    """Verdicts of both by kind, and the statements that SmartNoise alone answers."""
    if subprocess.run([python, "-c", "import snsql"], capture_output=True, check=False).returncode:
        made = f"python3 -m venv smartnoise && smartnoise/bin/pip install {SMARTNOISE.install}"
        click.echo(f"SmartNoise SQL is not installed in {python}: {made}; then add --python smartnoise/bin/python")
        return
    cases = [c for c in every() if c.family != DRAFTED]
    cases = [replace(c, verdict=v) for c, v in zip(cases, verdicts(cases), strict=True)]
    theirs = asked(python, cases)
    for case, other in zip(cases, theirs, strict=True):
        if other["verdict"] == "executed" and case.verdict != ANSWERED:
            print(f"{case.sql}\n-- {case.kind} {case.wanted}: {case.verdict}\n")
    show("The corpus beside SmartNoise SQL", beside(cases, theirs), "corpus_beside")


if __name__ == "__main__":
    main()
