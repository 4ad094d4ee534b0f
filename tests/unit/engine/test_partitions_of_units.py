"""The rows of a unit that are counted are the same, however many units are looked at together."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from dpsql.domain import CategoryDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.engine.duckdb import DuckDbEngine, kept_rows
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.rules import Rules
from dpsql.errors import EngineError
from tests.contracts.engine_contract import policy_of

COLUMNS = (
    IntegerDomain("age", 0, 9),
    CategoryDomain("kind", ("a", "b"), nullable=False),
    NumberDomain("size", (0.0, 10.0, 20.0)),
    TextDomain("word"),
)
UNITS = {
    "integers": "CASE WHEN i % 11 > 0 THEN i % 37 END",
    "texts": "CASE WHEN i % 11 > 0 THEN ['é', 'E', 'e', 'é', '', 'a' || chr(0)][1 + i % 6] || (i // 90) END",
    "floats": "[0.0::DOUBLE, -0.0, 'nan'::DOUBLE, '-nan'::DOUBLE, 1.5, NULL][1 + i % 6]",
    "one": "1",
    "none": "NULL::VARCHAR",
    "each": "i",
    "pairs": "CASE WHEN i % 11 > 0 THEN {'a': ['é', 'E', 'e'][1 + i % 3], 'b': i // 90} END",
    "times": "TIMESTAMP '2020-01-01' + INTERVAL (i % 50) HOUR",
}
ROWS = (
    "CREATE TABLE people AS SELECT {unit} AS owner, (i * 7 % 12)::INTEGER AS age, ['a', 'b', 'c'][1 + i % 3] AS kind, "
    "(i * 13 % 25)::DOUBLE AS size, CASE WHEN i % 9 > 0 THEN 'w' || (i % 5) END AS word FROM range(500) AS r(i) "
    "UNION ALL SELECT {unit}, 3, 'a', -0.0, 'w' FROM range(60) AS r(i)"
)


def engine(path: Path, rules: Rules | None = None, cap: int = 3) -> DuckDbEngine:
    return DuckDbEngine(path, policy_of(TableDomain("people", COLUMNS, unit="owner", max_rows_per_unit=cap)), rules)


def counted(one: DuckDbEngine) -> list[np.ndarray]:
    """Everything that the private questions of a table can see."""
    names = ("age", "kind", "size")
    found = [one.contingency("people", names), one.sums("people", "size", ("kind",)), one.positions("people", "size")]
    arrays = [private.reveal() for private in found]
    keys = (("w",), ("w1",), (None,))
    return [*arrays, one.keyed_counts("people", ("word",), keys, names).reveal()]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("rules", [None, Rules(1, 1)], ids=["newest", "first"])
def test_partitions_keep_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str, rules: Rules | None
) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(ROWS.format(unit=UNITS[unit])).fetchall()
    whole = counted(engine(path, rules))
    for rows in (40, 400):
        monkeypatch.setattr(kept_rows, "ROWS_AT_ONCE", rows)
        parts = counted(engine(path, rules))
        assert all((a == b).all() for a, b in zip(whole, parts, strict=True)), rows
    assert whole[0].sum() > 0


def test_a_look_that_was_cut_off_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(ROWS.format(unit="i % 50")).fetchall()
    whole = counted(engine(path))
    monkeypatch.setattr(kept_rows, "ROWS_AT_ONCE", 100)
    one, left, original = engine(path), [4], Reader.rows

    def cut(self: Reader, what: str, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        looks = sql.startswith(("CREATE OR REPLACE TEMP", "INSERT"))
        left[0] -= looks
        if looks and left[0] == 0:
            raise EngineError("cut off", hint="ask again")
        return original(self, what, sql, parameters)

    monkeypatch.setattr(Reader, "rows", cut)
    with pytest.raises(EngineError, match="cut off"):
        one.contingency("people", ("age",))
    assert all((a == b).all() for a, b in zip(whole, counted(one), strict=True))
    assert left[0] < -5


INSIDE = {
    "list": ("", "[word]"),
    "struct": ("", "{'a': word, 'b': 1}"),
    "unnamed struct": ("", "row(word, 1)"),
    "map": ("", "CASE WHEN word IS NOT NULL THEN MAP {word: 1} END"),
    "of the session": ("SET default_collation = 'NOCASE'", "[word::VARCHAR]"),
    "json, of the session": ("SET default_collation = 'NOCASE'", "to_json(word)"),
}


@pytest.mark.parametrize("inside", INSIDE)
def test_strings_inside_of_a_unit_are_told_apart_by_their_bytes(inside: str) -> None:
    """A collation would make one unit of several people, of whom one could take the place of another's rows."""
    setting, unit = INSIDE[inside]
    with duckdb.connect() as con:
        con.execute(setting or "SELECT 1").fetchall()
        con.execute("CREATE TABLE stored (word VARCHAR COLLATE NOCASE, age INTEGER)").fetchall()
        con.execute(f"CREATE VIEW people AS SELECT {unit} AS owner, age FROM stored").fetchall()
        con.execute("INSERT INTO stored SELECT 'ann', i % 5 FROM range(40) AS r(i)").fetchall()
        con.execute("INSERT INTO stored SELECT NULL, 9 FROM range(4) AS r(i)").fetchall()
        before = ages(con)
        for another in ("Ann", "aNn", "anN", "ANN"):
            con.execute("INSERT INTO stored SELECT ?, 5 + i % 4 FROM range(40) AS r(i)", [another]).fetchall()
            now = ages(con)
            assert (now >= before).all()
            assert (now - before).sum() == 2
            before = now


def ages(con: duckdb.DuckDBPyConnection) -> np.ndarray:
    table = TableDomain("people", (IntegerDomain("age", 0, 9),), unit="owner", max_rows_per_unit=2)
    one = DuckDbEngine(con, policy_of(table))
    found = one.contingency("people", ("age",)).reveal()
    one.close()
    return found
