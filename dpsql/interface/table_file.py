"""An Arrow table as a file, whole or not at all: by its ending Parquet or CSV."""

import os
from pathlib import Path

import pyarrow as pa


def write_table(table: pa.Table, path: Path) -> None:
    """Write ``table`` to ``path``, replacing it at the end. OSError when it cannot be written.

    Parquet keeps types and the schema's metadata; CSV has neither, and its NULLs are empty.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.suffix.lower() == ".csv":
            from pyarrow import csv

            csv.write_csv(table, beside)
        else:
            from pyarrow import parquet

            parquet.write_table(table, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
