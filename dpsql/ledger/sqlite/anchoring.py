"""One ledger's ties to the registry: is this the latest state that the machine has seen, and how far is it now?

A ledger cannot notice by itself that it is an old copy. It stands between the ledger and the machine's registry so that
each can be tested, and can fail, alone.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dpsql.errors import LedgerError
from dpsql.ledger.registry import Anchor, Registry
from dpsql.ledger.sqlite.history import History


class Anchoring:
    """Without a registry, or once it fails, the ledger stands on its own; ``notices`` says so."""

    def __init__(
        self,
        registry: Registry | None,
        path: Path,
        ledger: str,
        tables: Sequence[str],
        other_tables: Sequence[str] = (),
    ) -> None:
        self._registry = registry
        self._path = path
        self._tables = tables
        self._recorded = (*tables, *other_tables)  # by other rules it is known, but no judge of itself
        self._ledger = ledger
        self._anchors: list[dict[str, Anchor]] = []
        self.notices: list[str] = []

    def recall(self) -> None:
        """Read what is on record, before the history: other sessions may append and record in between."""
        if self._registry is not None:
            self._anchors = [self._registry.anchors(table) for table in self._tables]

    def check(self, history: History, *, new_budget: bool) -> None:
        """``LedgerError`` unless the history continues the anchored one, or ``new_budget`` allows another ledger."""
        for anchors in self._anchors:
            self._check(anchors, history, new_budget=new_budget)

    def _check(self, anchors: Mapping[str, Anchor], history: History, *, new_budget: bool) -> None:
        own = anchors.get(self._ledger)
        if own is None:
            if anchors and not new_budget:
                raise LedgerError(
                    f"the ledger {self._path} is not the one known for these data, {next(iter(anchors.values())).path}",
                    hint="open that one with --ledger, or decide on another budget with --new-budget",
                )
        elif own.sequence > history.sequence or history.digest_at(own.sequence).hex() != own.head:
            raise LedgerError(
                f"the ledger {self._path} is older than its state on record, or continues an older one: "
                f"it has {history.sequence} events, {own.sequence} are on record",
                hint="restore the latest copy of the ledger",
            )

    def record(self, history: History, *, sync: bool = False) -> None:
        """Tell the registry how far the ledger has come."""
        if self._registry is None:
            return
        anchor = Anchor(self._ledger, str(self._path), history.sequence, history.head.hex())
        try:
            with self._registry.exclusive(*self._recorded):
                for table in self._recorded:
                    self._registry.record(table, anchor, sync=sync)
        except (OSError, LedgerError):
            self.notices.append(f"{self._registry.directory} cannot be written: an older ledger would not be noticed")
            self._registry = None
