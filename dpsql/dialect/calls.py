"""Calls of DuckDB whose failures become our own errors, and the settings of a locked connection.

A message of DuckDB's may quote a row's value, and Python keeps the cause of an error beside it. What fails in a call of
ours is said anew here, and the cause is cut off.
"""

from collections.abc import Callable
from typing import TypeVar

import duckdb
import pyarrow as pa

from dpsql.errors import Error

FAILURES = (duckdb.Error, pa.ArrowException, RuntimeError, ValueError, MemoryError, OverflowError)
LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
T = TypeVar("T")


def without_cause(work: Callable[[], T], translate: Callable[[Exception], Error]) -> T:
    """``work()``; a failure of DuckDB is raised as another error that carries no trace of the first one.

    DuckDB's messages quote row values. ``raise ... from None`` would still keep them in ``__context__``, so the new
    error is raised after the ``except`` block has ended.
    """
    error: BaseException
    try:
        return work()
    except FAILURES as e:
        # Ctrl-C inside DuckDB arrives as a RuntimeError of its binding
        pressed = type(e) is RuntimeError and "interrupted" in str(e)
        error = KeyboardInterrupt() if pressed else translate(e)
    try:
        raise error
    finally:
        del error  # no cycle of error, traceback and frame
