"""The identity of the data: what the ledger is bound to. Private: a digest of rows must not be shown to analysts.

Without it a copy, an alias or another path would begin a second budget on the same people (docs/decisions/0005).
"""

from hashlib import sha256

from dpsql.dialect.quoting import identifier
from dpsql.dialect.types import FLOATS, INTEGERS
from dpsql.engine.duckdb.catalog import Source
from dpsql.engine.duckdb.content import row_digest
from dpsql.engine.duckdb.reader import Reader

_TEXTS = ("VARCHAR", "ENUM", "UUID", "BLOB", "TIMESTAMP", "TIME", "DECIMAL")


def content_fingerprint(reader: Reader, source: Source) -> str:
    """A digest of all columns of a table or view as a multiset of rows: order does not count, duplicates do.

    It knows nothing of a policy, of the table's name, or of the order and the width of its columns, so that a copy, or
    another choice of declared columns, is known again. Columns whose text is not the same in every session and version
    (nested types) count by their names alone. Each row is hashed to 128 bits and the halves are summed, so that one
    scan in any order gives the same digest.
    """
    columns = sorted((name.lower(), name, kind) for name, kind in source.columns)
    pairs = [(identifier(name), kind) for _, name, kind in columns if _has_one_text(kind)]
    low, high = "(h & 18446744073709551615::UHUGEINT)::HUGEINT", "(h >> 64)::HUGEINT"
    found = reader.rows(
        "fingerprinting the data",
        f"SELECT count(*), coalesce(sum({low}), 0)::HUGEINT, coalesce(sum({high}), 0)::HUGEINT "
        f"FROM (SELECT {row_digest(pairs)} AS h FROM {source.sql})",
    )
    count, *sums = (int(n) for n in found[0])
    content = (count, *(n % (1 << 64) for n in sums))
    return sha256(repr(([name for name, _, _ in columns], content)).encode()).hexdigest()


def _has_one_text(kind: str) -> bool:
    plain = kind in INTEGERS or kind in FLOATS or kind in ("BOOLEAN", "DATE") or kind.startswith(_TEXTS)
    return plain and not kind.endswith("]")
