"""The identity of the data: what the ledger is bound to. Private: a digest of rows must not be shown to analysts."""

from hashlib import sha256
from pathlib import Path

from dpsql.domain import TableDomain
from dpsql.engine.catalog import Source
from dpsql.engine.content import row_digest
from dpsql.engine.quoting import identifier
from dpsql.engine.reader import Reader


def table_fingerprint(reader: Reader, table: TableDomain, source: Source) -> bytes:
    """A digest of the table's declared columns and unit as a multiset of rows: order does not count, duplicates do.

    Each row is hashed to 128 bits and the halves are summed, so that one scan in any order gives the same digest.
    """
    columns = [c.name for c in table.columns]
    if table.unit is not None and table.unit.lower() not in {c.lower() for c in columns}:
        columns.append(table.unit)
    pairs = [(identifier(c), source.type_of(c)) for c in columns]
    low, high = "(h & 18446744073709551615::UHUGEINT)::HUGEINT", "(h >> 64)::HUGEINT"
    found = reader.rows(
        f"fingerprinting {table.name}",
        f"SELECT count(*), coalesce(sum({low}), 0)::HUGEINT, coalesce(sum({high}), 0)::HUGEINT "
        f"FROM (SELECT {row_digest(pairs)} AS h FROM {source.sql})",
    )
    count, *sums = (int(n) for n in found[0])
    content = (count, *(n % (1 << 64) for n in sums))
    return sha256(repr((table.name.lower(), [c.lower() for c in columns], content)).encode()).digest()


def file_identity(path: Path) -> str | None:
    """Device, inode, size and modification time of a file and of the write-ahead log beside it; None if unreadable.

    While it stays the same the content is unchanged, and the scan of the fingerprint can be left out.
    """
    parts = []
    for file in (path, path.with_name(path.name + ".wal")):
        try:
            s = file.stat()
        except FileNotFoundError:
            if file == path:
                return None
            continue
        except OSError:
            return None
        parts.append(f"{s.st_dev}:{s.st_ino}:{s.st_size}:{s.st_mtime_ns}")
    return " ".join(parts)
