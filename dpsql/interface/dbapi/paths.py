"""Where policy and ledger of a database lie when nobody names another path.

The command line, ``dpsql.connect`` and the search for earlier ledgers must mean the same files.
"""

from os import PathLike, fspath
from pathlib import Path
from shlex import quote

from dpsql.dialect.address import ServerAddress

_POLICY_SUFFIX = ".dpsql.toml"
_LEDGER_SUFFIX = ".dpsql.ledger"
_DATABASES = (".duckdb", ".db", ".ddb", _POLICY_SUFFIX)

StrPath = str | PathLike[str]


class Address(str):
    """Where a server's database is, ``postgresql://ann@db.example/clinic``; it may hold a password.

    >>> Address("postgresql://ann:secret@db.example/clinic?sslmode=require").name
    'clinic'
    >>> Address.is_one("census.duckdb"), Address.is_one("postgresql:///clinic")
    (False, True)
    """

    __slots__ = ()

    @staticmethod
    def is_one(text: object) -> bool:
        """Whether something is written as an address, of whatever server."""
        return isinstance(text, str) and "://" in text

    @property
    def scheme(self) -> str:
        """What it begins with, in lower case."""
        return self.partition("://")[0].lower()

    @property
    def name(self) -> str:
        """The database's name, for the names of files; EngineError where the address cannot be read."""
        name = ServerAddress.of(self).name.rpartition("/")[2]
        return name if name not in ("", ".", "..") else "database"


DatabasePath = Path | Address


def is_policy_path(path: StrPath) -> bool:
    """Whether a file is a policy by its name, which may stand for the database that it names as its source.

    >>> is_policy_path("clinic.dpsql.toml"), is_policy_path("clinic.duckdb")
    (True, False)
    """
    return fspath(path).lower().endswith(_POLICY_SUFFIX)


def named_ledger(path: StrPath) -> str | None:
    """What to say of a file that is a ledger by its name and is given in the place of its database; else ``None``.

    >>> named_ledger("clinic.dpsql.ledger"), named_ledger("clinic.duckdb")
    ('clinic.dpsql.ledger is a ledger: name its database, such as clinic.duckdb', None)
    """
    text = fspath(path)
    if not text.lower().endswith(_LEDGER_SUFFIX):
        return None
    begun = text[: -len(_LEDGER_SUFFIX)]
    there = [f"{begun}{ending}" for ending in _DATABASES if Path(f"{begun}{ending}").is_file()]
    such = "such as " if not there else ""
    return f"{Path(text).name} is a ledger: name its database, {such}{quote(there[0] if there else begun + '.duckdb')}"


def is_spark_session(database: object) -> bool:
    """Whether it is a session of Spark's, of the classic kind or of Spark Connect.

    >>> is_spark_session("people.duckdb")
    False
    """
    kind = type(database)
    return kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.sql.")


def default_policy_path(database: StrPath) -> Path:
    """``census.dpsql.toml`` beside ``census.duckdb``; of a server's database ``clinic`` in the current folder.

    >>> default_policy_path("census.duckdb").name
    'census.dpsql.toml'
    """
    return _beside(database).with_suffix(_POLICY_SUFFIX)


def default_ledger_path(database: StrPath) -> Path:
    """``census.dpsql.ledger`` beside ``census.duckdb`` or ``census.dpsql.toml``.

    Of a server's database ``clinic`` it is in the current folder.

    >>> default_ledger_path("census.duckdb").name
    'census.dpsql.ledger'
    """
    if is_policy_path(database) and not isinstance(database, Address):
        return Path(f"{fspath(database)[: -len(_POLICY_SUFFIX)]}{_LEDGER_SUFFIX}")
    return _beside(database).with_suffix(_LEDGER_SUFFIX)


def _beside(database: StrPath) -> Path:
    return Path(f"{database.name}.server") if isinstance(database, Address) else Path(database)
