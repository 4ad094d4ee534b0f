"""The identity of the data: what the ledger is bound to. Private: a digest of rows must not be shown to analysts.

Without it a copy, an alias or another path would begin a second budget on the same people (docs/decisions/0005).
"""

from hashlib import sha256

from dpsql.dialect.quoting import identifier
from dpsql.engine.duckdb.catalog import Source
from dpsql.engine.duckdb.identity import content, first_content
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.values import content as content_digest


def content_fingerprint(reader: Reader, source: Source, rules: int) -> str:
    """A digest of all columns of a table or view as a multiset of rows: order does not count, duplicates do.

    It knows nothing of a policy, of the table's name, or of the order and the width of its columns, so that a copy, or
    another choice of declared columns, is known again. ``rules``: the version (:class:`dpsql.engine.rules.Rules`). Each
    row is hashed to 128 bits and the halves are summed, so that one scan in any order gives the same digest.
    """
    columns = sorted((name.lower(), name, kind) for name, kind in source.columns)
    names = [lowered for lowered, _, _ in columns]
    text = first_content if rules == 1 else content
    told = [(identifier(name), kind) for _, name, kind in columns if text.has_text(kind)]
    number, low, high = _sums(reader, source, text.row_text(told))
    if rules == 1:
        return sha256(repr((names, (number, low % (1 << 64), high % (1 << 64)))).encode()).hexdigest()
    return content_digest(names, number, low, high)


def _sums(reader: Reader, source: Source, text: str) -> tuple[int, int, int]:
    """The number of rows, and the sums of both halves of their digests."""
    low, high = "(h & 18446744073709551615::UHUGEINT)::HUGEINT", "(h >> 64)::HUGEINT"
    found = reader.rows(
        "fingerprinting the data",
        f"SELECT count(*), coalesce(sum({low}), 0)::HUGEINT, coalesce(sum({high}), 0)::HUGEINT "
        f"FROM (SELECT md5_number({text}) AS h FROM {source.sql})",
    )
    number, first, second = found[0]
    return int(number), int(first), int(second)
