"""Where policy and ledger of a database lie when nobody names another path.

The command line, ``dpsql.connect`` and the search for earlier ledgers must mean the same files.
"""

from os import PathLike
from pathlib import Path

_POLICY_SUFFIX = ".dpsql.toml"
_LEDGER_SUFFIX = ".dpsql.ledger"

StrPath = str | PathLike[str]


def default_policy_path(database: StrPath) -> Path:
    """``census.dpsql.toml`` beside ``census.duckdb``.

    >>> default_policy_path("census.duckdb").name
    'census.dpsql.toml'
    """
    return Path(database).with_suffix(_POLICY_SUFFIX)


def default_ledger_path(database: StrPath) -> Path:
    """``census.dpsql.ledger`` beside ``census.duckdb``.

    >>> default_ledger_path("census.duckdb").name
    'census.dpsql.ledger'
    """
    return Path(database).with_suffix(_LEDGER_SUFFIX)
