"""Digests of tables by the state of the file they were read from: what saves a connect from reading every row.

It lies beside the registry and may be lost: then rows are read again. Public, as the registry is.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path

VERSION = "1"


class Contents:
    """A small file under ``directory`` for each database file. ``trusted=False`` reads none of it, and writes anew.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     contents = Contents(Path(folder))
    ...     contents.keep("/census.duckdb", "state 1", "people", "2:ab")
    ...     [contents.get("/census.duckdb", state, "people") for state in ("state 1", "state 2")]
    ['2:ab', None]
    """

    def __init__(self, directory: Path, *, trusted: bool = True) -> None:
        self._folder = directory / "contents"
        self._trusted = trusted

    def get(self, path: str, state: str, table: str) -> str | None:
        """The digest that was kept of the table, if the file at ``path`` was in this state then."""
        return self._tables(path, state).get(table) if self._trusted else None

    def keep(self, path: str, state: str, table: str, digest: str) -> None:
        """Remember a digest; what was kept of other states is dropped. Where nothing can be written, nothing is."""
        tables = {**self._tables(path, state), table: digest}
        content = {"version": VERSION, "path": path, "state": state, "tables": tables}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, draft = tempfile.mkstemp(dir=self._folder, suffix=".draft")  # readable by its owner alone
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                json.dump(content, stream, indent=1)
            Path(draft).replace(self._file(path))
        except OSError:
            return

    def _tables(self, path: str, state: str) -> dict[str, str]:
        """What is known of the file in this state; nothing where that cannot be read."""
        try:
            content = json.loads(self._file(path).read_text(encoding="utf-8"))
            if (content["version"], content["path"], content["state"]) != (VERSION, path, state):
                return {}
            return {str(table): str(digest) for table, digest in content["tables"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def _file(self, path: str) -> Path:
        return self._folder / f"{hashlib.sha256(path.encode('utf-8')).hexdigest()[:40]}.json"
