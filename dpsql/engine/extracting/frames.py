"""Frames and streams of Arrow as a source: whatever hands its rows out by Arrow's stream protocol.

pandas, Polars and pyarrow do, and so does everything that is made to work with them. A stream is read once, from its
beginning to its end, so it shows one state of what is behind it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa

from dpsql.dialect.quoting import identifier
from dpsql.engine.extracting.source import Reading, Relation
from dpsql.errors import EngineError

_NUMBERS = count()


@dataclass(frozen=True, eq=False)
class FrameSource:
    """``frame``: a pandas or Polars frame, a pyarrow table, reader or dataset, in memory: it has no address."""

    frame: Any

    holds_one_table = True

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError when its rows cannot be read by Arrow."""
        yield _FrameReading(connection, self.frame)


@dataclass(frozen=True, eq=False)
class _FrameReading:
    connection: duckdb.DuckDBPyConnection
    frame: Any

    address = ""
    snapshot = "in memory"

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
    ) -> Relation:
        hint = "pass a pandas, polars or pyarrow table"
        try:
            return stream_relation(self.connection, stream_of(self.frame))
        except (pa.ArrowException, TypeError, ValueError, AttributeError):
            pass
        except duckdb.Error:
            hint = "leave out or convert columns of a type that DuckDB does not have, such as float16 and decimal256"
        raise EngineError(f"the frame of {table} cannot be read", hint=hint)


def stream_of(frame: Any) -> pa.RecordBatchReader:
    """The rows of a frame or dataset as a stream."""
    if callable(getattr(frame, "scanner", None)):  # a dataset of pyarrow's
        return frame.scanner().to_reader()
    return pa.RecordBatchReader.from_stream(frame)


def stream_relation(connection: duckdb.DuckDBPyConnection, stream: pa.RecordBatchReader) -> Relation:
    """A stream under a name of its own: DuckDB reads it once."""
    name = f"dpsql_stream_{next(_NUMBERS)}"
    connection.register(name, stream)
    return Relation(identifier(name))
