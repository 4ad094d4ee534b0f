"""The process in which analyst text is evaluated: a program that is killed when it uses too much.

DuckDB notices its own limits between calls of functions, never within one, and an expression of forty characters can
keep one call busy for an hour. A process has limits that the kernel enforces. It imports nothing of dpsql, gets no row,
no environment and no file, and answers one request after another until the other side closes the line.

A request and its reply are a header in JSON and blocks of bytes: Arrow streams, packed bits, integers.
"""

import json
import os
import resource
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute

_LENGTH = struct.Struct("!Q")
_MESSAGE = 2_000  # characters of an error that travel
_INCOMING = "dpsql_incoming"
_LARGEST = 1 << 62
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024
_HUGE = ("HUGEINT", "UHUGEINT")  # Arrow has no such integers: they come as decimals
Header = dict[str, Any]
Message = tuple[Header, list[bytes]]


def send(line: socket.socket, header: Header, blocks: list[bytes]) -> None:
    """One message."""
    text = json.dumps({**header, "sizes": [len(b) for b in blocks]}).encode()
    line.sendall(_LENGTH.pack(len(text)) + text)
    for block in blocks:
        line.sendall(block)


def receive(line: socket.socket) -> Message:
    """The next message; EOFError when the other side is gone."""
    (length,) = _LENGTH.unpack(_exactly(line, _LENGTH.size))
    header = json.loads(_exactly(line, length))
    return header, [_exactly(line, size) for size in header["sizes"]]


def _exactly(line: socket.socket, size: int) -> bytes:
    buffer = bytearray(size)
    view, have = memoryview(buffer), 0
    while have < size:
        got = line.recv_into(view[have:])
        if got == 0:
            raise EOFError
        have += got
    return bytes(buffer)


def to_stream(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    out: bytes = sink.getvalue().to_pybytes()
    return out


def from_stream(block: bytes) -> pa.Table:
    """The table of an Arrow stream."""
    return pa.ipc.open_stream(block).read_all()


class _TooLarge(Exception):
    """The answer is larger than what may be sent."""


class Evaluator:
    """One empty, locked, in-memory DuckDB at a time, and the questions that may be put to it."""

    def __init__(self) -> None:
        pa.set_cpu_count(1)
        self._most = 0
        self._connection = duckdb.connect(":memory:")

    def answer(self, header: Header, blocks: list[bytes]) -> Message:
        """The reply to one request: what it asks for, or how it failed."""
        work = {
            "open": self.open,
            "execute": self.execute,
            "read": self.read,
            "create": self.create,
            "truth": self.truth,
            "codes": self.codes,
            "numbers": self.numbers,
            "run": self.run,
        }
        try:
            return work[header["do"]](header, blocks)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side has to know
            kinds = [kind.__name__ for kind in type(error).__mro__]
            return {"kinds": kinds, "text": str(error)[:_MESSAGE]}, []

    def open(self, header: Header, _: list[bytes]) -> Message:
        """A new database; everything of the one before is gone."""
        self._connection.close()
        self._connection = duckdb.connect(":memory:", config=header["config"])
        self._most = header["most"]
        for command in header["setup"]:
            self._connection.execute(command).fetchall()
        return {}, []

    def execute(self, header: Header, _: list[bytes]) -> Message:
        """A command without an answer."""
        self._connection.execute(header["sql"]).fetchall()
        return {}, []

    def read(self, header: Header, _: list[bytes]) -> Message:
        """Whether DuckDB's parser reads the text, which is not run."""
        self._connection.extract_statements(header["sql"])
        return {}, []

    def create(self, header: Header, blocks: list[bytes]) -> Message:
        """A table that stays, from an Arrow stream."""
        self._create(header["name"], header["select"], blocks[0])
        return {}, []

    def truth(self, header: Header, _: list[bytes]) -> Message:
        """For each predicate one bit per cell, row-major. The first column of the rows is the cell."""
        cells, *columns = self._connection.execute(header["sql"]).fetchnumpy().values()
        out = []
        for column in columns:
            bits = np.zeros(header["cells"], dtype=bool)
            bits[cells] = column
            out.append(np.packbits(bits).tobytes())
        return {}, out

    def codes(self, header: Header, _: list[bytes]) -> Message:
        """The value in every cell as an index into the distinct ones, which stand in the order in which they appear.

        No blocks for values that cannot be told apart, such as lists.
        """
        kind, cells, column = self._cells(header["sql"])
        try:
            encoded = column.dictionary_encode(null_encoding="encode")
        except pa.ArrowNotImplementedError:
            return {"kind": kind}, []
        size, distinct = header["cells"], len(encoded.dictionary)
        codes = np.empty(size, dtype=np.int32)
        codes[cells] = encoded.indices.to_numpy(zero_copy_only=False)
        first = np.empty(distinct, dtype=np.int64)
        first[codes[::-1]] = np.arange(size - 1, -1, -1)  # of equal codes the last one is kept, which is the first cell
        order = np.argsort(first, kind="stable")
        rank = np.empty(distinct, dtype=np.int32)
        rank[order] = np.arange(distinct, dtype=np.int32)
        values = pa.table({"value": encoded.dictionary.take(pa.array(order))})
        return {"kind": kind}, [rank[codes].tobytes(), self._stream(values)]

    def numbers(self, header: Header, _: list[bytes]) -> Message:
        """The number in every cell, row-major, with 0 for NULL, and one bit where it is not NULL.

        Whole numbers where all are far inside int64, else float64; no blocks for what is no number.
        """
        kind, cells, column = self._cells(header["sql"])
        found = _whole_numbers(kind, column)
        if found is None:
            found = _real_numbers(column)
        if found is None:
            return {"kind": kind}, []
        out = np.zeros(header["cells"], dtype=found.dtype)
        known = np.zeros(header["cells"], dtype=bool)
        out[cells], known[cells] = found, column.is_valid().to_numpy(zero_copy_only=False)
        return {"kind": kind, "whole": found.dtype == np.int64}, [out.tobytes(), np.packbits(known).tobytes()]

    def run(self, header: Header, blocks: list[bytes]) -> Message:
        """The rows of one SELECT over tables that are dropped afterwards; ``several``: it is none, and nothing ran."""
        connection = self._connection
        statements = connection.extract_statements(header["sql"])
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            return {"several": True}, []
        connection.execute("BEGIN").fetchall()
        try:
            for name, block in zip(header["names"], blocks, strict=True):
                self._create(name, "SELECT *", block)
            return {}, [self._stream(connection.sql(header["sql"]).to_arrow_table())]
        finally:
            with suppress(duckdb.Error):  # after a fatal error there is no transaction
                connection.execute("ROLLBACK").fetchall()

    def _create(self, name: str, select: str, block: bytes) -> None:
        self._connection.register(_INCOMING, from_stream(block))
        try:
            self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS {select} FROM {_INCOMING}").fetchall()
        finally:
            self._connection.unregister(_INCOMING)

    def _cells(self, sql: str) -> tuple[str, Any, Any]:
        """Type, cells and values of a SELECT of two columns: the cell and the value."""
        relation = self._connection.sql(sql)
        table = relation.to_arrow_table()
        values = table.column(1).combine_chunks()
        if pa.types.is_dictionary(values.type):  # an ENUM
            values = values.dictionary_decode()
        if pa.types.is_floating(values.type):
            values = pa.compute.add(values, pa.scalar(0, values.type))  # -0 is 0
        return str(relation.types[1]), table.column(0).to_numpy(), values

    def _stream(self, table: Any) -> bytes:
        if table.nbytes > self._most:
            raise _TooLarge
        return to_stream(table)


def _whole_numbers(kind: str, column: Any) -> Any:
    """int64, or ``None`` where a value is none or comes near the end of what fits."""
    types, values = pa.types, column
    if types.is_decimal(values.type) and kind in _HUGE:
        try:
            values = values.cast(pa.int64())
        except pa.ArrowInvalid:
            return None
    if types.is_null(values.type):
        return np.zeros(len(values), dtype=np.int64)
    if types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if not types.is_integer(values.type):
        return None
    found = values.fill_null(0).to_numpy(zero_copy_only=False)
    if len(found) and (int(found.max()) >= _LARGEST or int(found.min()) <= -_LARGEST):
        return None
    return found.astype(np.int64)


def _real_numbers(column: Any) -> Any:
    """float64, or ``None`` where the values are no numbers."""
    types = pa.types
    if types.is_decimal128(column.type):
        words = np.frombuffer(column.buffers()[1], dtype="<i8").reshape(-1, 2)
        low, high = words[column.offset : column.offset + len(column)].T
        known = column.is_valid().to_numpy(zero_copy_only=False)
        if (np.abs(low[known]) < 1 << 53).all() and (high[known] == low[known] >> 63).all():
            return np.where(known, low, 0) / 10.0**column.type.scale  # both exact, so rounded once
    elif not (types.is_integer(column.type) or types.is_floating(column.type)):
        return None
    return column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)


class _Without:
    """DuckDB and Arrow import these when they first meet a table; they take longer than all the rest."""

    def find_spec(self, name: str, *_: object) -> None:
        if name in ("pandas", "polars"):
            raise ModuleNotFoundError(name=name)


def _limited(memory: int) -> None:
    """No files, no core, no more memory than this; signals of a terminal are the other side's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # not every system has every limit
            resource.setrlimit(kind, (most, most))


def main(memory: int) -> None:
    """Answer requests on the socket that is standard input, each within its ``seconds`` of processor time."""
    sys.meta_path.insert(0, _Without())
    _limited(memory)
    line = socket.socket(fileno=0)
    evaluator = Evaluator()
    send(line, {}, [])
    while True:
        try:
            header, blocks = receive(line)
        except (EOFError, OSError):
            os._exit(0)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, header["seconds"])  # at its end the kernel ends this process
        reply, out = evaluator.answer(header, blocks)
        blocks.clear()
        signal.setitimer(signal.ITIMER_PROF, 0)
        reply["seconds"] = time.process_time() - began
        reply["peak"] = _peak()
        with suppress(OSError):
            send(line, reply, out)


def _peak() -> int:
    """The most bytes held. A child begins with its parent's ``ru_maxrss``, so Linux is asked of this process alone."""
    with suppress(OSError), open("/proc/self/status", "rb") as status:  # noqa: PTH123 - pathlib is not loaded here
        for line in status:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT


if __name__ == "__main__":
    main(int(sys.argv[1]))
