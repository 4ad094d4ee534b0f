"""Anchors: what this machine remembers of each ledger, kept away from the ledgers themselves.

A ledger that was deleted, or replaced by an older copy, cannot tell so itself. The registry remembers for each table's
fingerprint which ledgers exist and how far each had come; it holds public values only.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dpsql.errors import LedgerError
from dpsql.ledger.known import Known
from dpsql.ledger.os_lock import locked

_TIMEOUT = 10.0  # seconds


@dataclass(frozen=True)
class Anchor:
    """How far the ledger with identity ``ledger`` at ``path`` had come: its ``sequence`` and chain ``head`` (hex)."""

    ledger: str
    path: str
    sequence: int
    head: str


def state_directory(environment: Mapping[str, str], home: Path) -> Path:
    """Where the registry belongs.

    >>> state_directory({"XDG_STATE_HOME": "/state"}, Path("/home/ada")).as_posix()
    '/state/dpsql'
    >>> state_directory({}, Path("/home/ada")).as_posix()
    '/home/ada/.local/state/dpsql'
    """
    if environment.get("DPSQL_STATE_HOME"):
        return Path(environment["DPSQL_STATE_HOME"])
    if environment.get("XDG_STATE_HOME"):
        return Path(environment["XDG_STATE_HOME"]) / "dpsql"
    return home / ".local" / "state" / "dpsql"


def default_state_directory() -> Path:
    """``state_directory`` of this process; the one place that reads the environment, for the interface to call."""
    return state_directory(os.environ, Path.home())


def registered_tables(header: Mapping[str, str]) -> tuple[str, ...]:
    """The fingerprints under which a ledger is registered: one for each table, or the data's own.

    >>> registered_tables({"data": "d", "tables": "t2 t1"}), registered_tables({"data": "d"})
    (('t1', 't2'), ('d',))
    """
    return tuple(sorted(set(header.get("tables", "").split()))) or (header["data"],)


def rules_of(table: str) -> str:
    """By which rules a fingerprint was made: the mark before its colon; "" for the first rules, which have none.

    >>> rules_of("2:ab"), rules_of("ab")
    ('2', '')
    """
    return table.rpartition(":")[0]


class Registry:
    """Under one directory, the anchors, one small file per table fingerprint, and what is known of each ledger.

    Methods may raise ``OSError``. With ``writes=False`` it locks and writes nothing, and can still be asked.
    """

    def __init__(self, directory: Path, *, writes: bool = True) -> None:
        self.directory = directory
        self.writes = writes

    def __repr__(self) -> str:
        return f"Registry({str(self.directory)!r})"

    def reading(self) -> "Registry":
        """The same registry where it cannot be written: files are replaced whole, so reading needs no lock."""
        return Registry(self.directory, writes=False)

    @contextmanager
    def exclusive(self, *data: str) -> Iterator[None]:
        """Hold the fingerprints' locks over a check and the creation that follows."""
        if not self.writes:
            yield
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as held:
            for fingerprint in sorted(set(data)):  # one order for everybody: no deadlock
                held.enter_context(locked(self._file(fingerprint).with_suffix(".lock"), _TIMEOUT))
            yield

    def anchors(self, data: str) -> dict[str, Anchor]:
        """Anchors of the fingerprint by ledger identity; ``LedgerError`` when they are unreadable."""
        file = self._file(data)
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            anchors = [Anchor(**fields) for fields in content["ledgers"]]
            return {anchor.ledger: anchor for anchor in anchors}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError):
            pass
        raise _damaged(file)

    def tables_of(self) -> dict[str, set[str]]:
        """The fingerprints under which each ledger is known, by ledger identity.

        A damaged file counts as a ledger that is known by nothing: whose it is cannot be told.
        """
        found: dict[str, set[str]] = {}
        for file in sorted(self._folder.glob("*.json")):
            try:
                content = json.loads(file.read_text(encoding="utf-8"))
                for fields in content["ledgers"]:
                    found.setdefault(str(fields["ledger"]), set()).add(str(content["data"]))
            except (ValueError, TypeError, KeyError):
                found.setdefault(file.name, set())
        return found

    def record(self, data: str, anchor: Anchor, *, sync: bool = False) -> None:
        """Keep the anchor if it is further than the one known for its ledger; call within ``exclusive``."""
        anchors = self.anchors(data)
        known = anchors.get(anchor.ledger)
        if known is not None and (known.sequence > anchor.sequence or known == anchor):
            return
        anchors[anchor.ledger] = anchor
        self._write_anchors(data, anchors, sync=sync)

    def known(self) -> list[Known]:
        """Every ledger of this machine, by path; ``LedgerError`` when one is unreadable.

        Of ledgers that only earlier versions have opened it knows no more than their anchors say.
        """
        found = {known.ledger: known for known in map(self._read_known, sorted(self._known_folder.glob("*.json")))}
        for file in sorted(self._folder.glob("*.json")):
            try:
                content = json.loads(file.read_text(encoding="utf-8"))
                anchors = [Anchor(**fields) for fields in content["ledgers"]]
            except (ValueError, TypeError, KeyError):
                continue  # refused where somebody asks for its own fingerprint
            for anchor in anchors:
                found.setdefault(anchor.ledger, Known(anchor.ledger, anchor.path, anchor.sequence))
        return sorted(found.values(), key=lambda known: known.path)

    def tell(self, known: Known, *, sync: bool = False) -> None:
        """Keep what is known of a ledger, and the databases known before; call within ``exclusive``."""
        if not self.writes:
            return
        self._known_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._known_file(known.ledger)
        if file.exists():
            databases = (*self._read_known(file).databases, *known.databases)
            known = replace(known, databases=tuple(dict.fromkeys(databases)))
        _write(file, known.to_json(), sync=sync)

    def knows(self, ledger: str) -> bool:
        """Whether the ledger is known and not forgotten; reads one file where this version has told of it."""
        file = self._known_file(ledger)
        if file.exists():
            return not self._read_known(file).forgotten
        return any(known.ledger == ledger for known in self.known())

    def forgot(self, ledger: str) -> bool:
        """Whether another ledger took its place before anything was spent under it."""
        file = self._known_file(ledger)
        return file.exists() and self._read_known(file).forgotten

    def forget(self, ledger: Known, tables: Iterable[str]) -> None:
        """An unspent ledger makes way for another one of the same tables; call within ``exclusive`` of these."""
        if not self.writes:
            return
        for table in tables:
            anchors = self.anchors(table)
            if anchors.pop(ledger.ledger, None) is not None:
                self._write_anchors(table, anchors, sync=True)
        self.tell(replace(ledger, forgotten=True), sync=True)

    def _write_anchors(self, data: str, anchors: Mapping[str, Anchor], *, sync: bool) -> None:
        if self.writes:
            text = json.dumps({"data": data, "ledgers": [asdict(entry) for entry in anchors.values()]}, indent=1)
            _write(self._file(data), text, sync=sync)

    def _read_known(self, file: Path) -> Known:
        try:
            return Known.from_json(file.read_text(encoding="utf-8"))
        except (ValueError, TypeError, KeyError, AttributeError):
            pass
        raise _damaged(file)

    @property
    def _folder(self) -> Path:
        return self.directory / "ledgers"

    @property
    def _known_folder(self) -> Path:
        return self.directory / "known"

    def _known_file(self, ledger: str) -> Path:
        return self._known_folder / f"{hashlib.sha256(ledger.encode('utf-8')).hexdigest()[:40]}.json"

    def _file(self, data: str) -> Path:
        return self._folder / f"{hashlib.sha256(data.encode('utf-8')).hexdigest()[:40]}.json"


def _write(file: Path, text: str, *, sync: bool) -> None:
    """Replace a file whole."""
    draft = file.with_suffix(".draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        if sync:
            os.fsync(descriptor)
    draft.replace(file)


def _damaged(file: Path) -> LedgerError:
    return LedgerError(
        f"the registry file {file} is damaged",
        hint="make sure that the ledger is the latest one, then remove the registry file",
    )
