"""Where a policy says that its rows are: ``[source]``, a path or an address.

It is no part of the ``Policy``: rows may move to another machine, and a ledger is about rows, not about places. Every
policy is public, so a password in one is refused.
"""

from dataclasses import dataclass
from pathlib import Path

from dpsql.dialect.address import ServerAddress
from dpsql.errors import EngineError
from dpsql.policy_file.toml_table import TomlTable

_EXAMPLE = 'uri = "postgresql://db.example/clinic" or path = "clinic.duckdb"'


@dataclass(frozen=True)
class DataSource:
    """One of the two: the ``path`` of a file, or the ``uri`` of a server's database without a password. Public."""

    path: Path | None = None
    uri: str | None = None


def read_source(keys: TomlTable, folder: Path = Path()) -> DataSource:
    """``[source]`` of a policy that lies in ``folder``. PolicyError with the key's path.

    >>> read_source(TomlTable({"path": "clinic.duckdb"}, "source"), Path("data")).path.as_posix()
    'data/clinic.duckdb'
    """
    keys.only(("path", "uri"), "[source]")
    if ("path" in keys) == ("uri" in keys):
        keys.refuse("uri", "one of path and uri is needed", f"write {_EXAMPLE}")
    if "path" in keys:
        path = keys.string("path", 'path = "clinic.duckdb"')
        if not Path(path).name or "\0" in path or "://" in path:
            keys.refuse("path", "is not the path of a file", 'write path = "clinic.duckdb", or uri for an address')
        return DataSource(path=folder / path)
    uri = keys.string("uri", 'uri = "postgresql://db.example/clinic"')
    if "://" not in uri:
        keys.refuse("uri", "is not an address", 'write uri = "postgresql://db.example/clinic", or path for a file')
    if _may_tell_a_secret(uri):
        keys.refuse("uri", "holds a password", "a policy is public: keep the password in PGPASSWORD or ~/.pgpass")
    return DataSource(uri=uri)


def _may_tell_a_secret(uri: str) -> bool:
    """Also where the address cannot be read: what is wrong with it may be its password."""
    try:
        return ServerAddress.of(uri).has_password
    except EngineError:
        return True
