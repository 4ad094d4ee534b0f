"""Ctrl-C just after any statement of the engine: asked again, it counts what it would have counted."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from dpsql.domain import CategoryDomain, NumberDomain, TableDomain, TextDomain
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.duckdb.reader import Reader
from dpsql.query import Interval
from tests.contracts.engine_contract import policy_of

FINITE = (
    CategoryDomain("kind", tuple(f"k{i}" for i in range(300)), nullable=False),
    NumberDomain("size", tuple(float(i * i) for i in range(3000))),  # bins that are looked up in a table of their edges
)
WORDS = TextDomain("word")
ROWS = (
    "CREATE TABLE people AS SELECT i % 40 AS owner, 'k' || (i % 301) AS kind, (i * 37 % 8000)::DOUBLE AS size, "
    "'w' || (i % 7) AS word FROM range(600) AS r(i)"
)
COUNTED: dict[str, Callable[[DuckDbEngine], np.ndarray]] = {
    "values": lambda engine: engine.contingency("people", ("kind",)).reveal(),
    "bins": lambda engine: engine.contingency("people", ("size",)).reveal(),
    "strings": lambda engine: engine.key_counts("people", "word").reveal().counts,
    "intervals": lambda engine: engine.part_counts("people", (), (Interval("size", 9.5, 6000.0),)).reveal(),
    "marks": lambda engine: engine.value_counts("people", "size", (0.0, 9.0, 50.0)).reveal(),
    "keys": lambda engine: engine.keyed_counts("people", ("word",), (("w1",), ("w5",)), ("kind",)).reveal(),
}


def interrupt(patch: pytest.MonkeyPatch, press_at: int) -> list[str]:
    """Ctrl-C after the ``press_at``-th statement from now on; what ran, as it grows."""
    ran: list[str] = []
    for name in ("rows", "arrays", "integers"):
        original = getattr(Reader, name)

        def pressed(self: Reader, what: str, *given: Any, original: Any = original) -> Any:
            found = original(self, what, *given)
            ran.append(what)
            if len(ran) == press_at:
                raise KeyboardInterrupt
            return found

        patch.setattr(Reader, name, pressed)
    return ran


@pytest.mark.parametrize("unit", [None, "owner"])
@pytest.mark.parametrize("counted", COUNTED.values(), ids=list(COUNTED))
def test_what_was_interrupted_is_counted_when_asked_again(
    tmp_path: Path, counted: Callable[[DuckDbEngine], np.ndarray], unit: str | None
) -> None:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as con:
        con.execute(ROWS)
    policy = policy_of(TableDomain("people", (*FINITE, WORDS), unit=unit, max_rows_per_unit=5))
    with closing(DuckDbEngine(tmp_path / "people.duckdb", policy)) as engine, pytest.MonkeyPatch.context() as patch:
        ran = interrupt(patch, 0)
        truth = counted(engine)
    assert len(ran) > 1
    for press_at in range(1, len(ran) + 1):
        with closing(DuckDbEngine(tmp_path / "people.duckdb", policy)) as engine:
            with pytest.MonkeyPatch.context() as patch:
                interrupt(patch, press_at)
                with pytest.raises(KeyboardInterrupt):
                    counted(engine)
            assert (counted(engine) == truth).all(), ran[press_at - 1]
