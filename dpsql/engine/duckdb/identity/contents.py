"""Digests of what private tables hold, each worked out once."""

from dpsql.engine.duckdb.catalog import Source, stored_tables
from dpsql.engine.duckdb.identity.file_state import FileContent
from dpsql.engine.duckdb.identity.fingerprint import content_fingerprint
from dpsql.engine.duckdb.reader import Reader


class Contents:
    """Of the tables of one connection; ``file``: what is remembered of the file that they are in, if anything is."""

    def __init__(self, reader: Reader, file: FileContent | None) -> None:
        self._reader = reader
        self._file = file
        self._known: dict[tuple[str, int], str] = {}

    @property
    def are_of_a_file(self) -> bool:
        """Whether something is remembered of it."""
        return self._file is not None

    def of(self, source: Source, rules: int) -> str:
        """What is remembered of a stored table, or its rows as they are; of a view or a generated column always the
        latter: what it shows may depend on more than the file.
        """
        key = source.sql, rules
        if key not in self._known:
            self._known[key] = self._read(source, rules)
        return self._known[key]

    def _read(self, source: Source, rules: int) -> str:
        def read() -> str:
            return content_fingerprint(self._reader, source, rules)

        if self._file is None or source.sql not in stored_tables(self._reader):
            return read()
        return self._file.digest(f"{source.sql} {source.columns} by rules {rules}", read)
