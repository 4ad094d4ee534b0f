"""Ctrl-C at any line of public work: whatever it left behind, the next statement is answered."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

from dpsql.public import locked_duckdb
from dpsql.public.locked_duckdb import DuckDbPublicSql
from dpsql.sql.public_sql import GridColumn

NAMES = pa.table({"b": [1], "name": ["one"]})


def is_interrupted(work: Callable[[], Any], line: int) -> bool:
    """Whether ``work`` ran into a Ctrl-C at the ``line``-th line of the module's own."""
    left = line

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != locked_duckdb.__file__:
            return None
        left -= event == "line"
        if left < 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # a finalizer of what another test left would swallow the Ctrl-C
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_work_that_was_interrupted_at_any_line_leaves_nothing_in_the_way(every: int) -> None:
    lines, going = 0, True
    while going:
        public = DuckDbPublicSql(lambda _: NAMES)

        def work(public: DuckDbPublicSql = public) -> tuple[list[Any], list[Any]]:
            found = public.run(
                "SELECT name, a FROM t JOIN names USING (b)", {"t": pa.table({"a": [7], "b": [1]})}, ["names"]
            )
            return found.to_pylist(), public.truth([GridColumn("c", "BIGINT", (1, 2))], ["c > 1"])[0].tolist()

        going = is_interrupted(work, lines)
        lines += every
        assert [work(), work()] == [([{"name": "one", "a": 7}], [0, 1])] * 2, lines
        public.close()
    assert lines > 50
