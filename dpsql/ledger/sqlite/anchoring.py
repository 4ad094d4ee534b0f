"""One ledger's ties to the registry: is this the latest state that the machine has seen, and how far is it now?

A ledger cannot notice by itself that it is an old copy. It stands between the ledger and the machine's registry so that
each can be tested, and can fail, alone.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dpsql.errors import NEW_BUDGET, LedgerError
from dpsql.ledger.known import NOWHERE, Known, Place, budget_of, price
from dpsql.ledger.registry import Anchor, Registry
from dpsql.ledger.sqlite.doors import older_copy, same_file
from dpsql.ledger.sqlite.history import History


class Anchoring:
    """Without a registry, or once it fails, the ledger stands on its own; ``notices`` says so."""

    def __init__(
        self,
        registry: Registry | None,
        path: Path,
        header: Mapping[str, str],
        tables: Sequence[str],
        other_tables: Sequence[str] = (),
        place: Place = NOWHERE,
    ) -> None:
        self._registry = registry
        self._path = path
        self._tables = tables
        self._recorded = (*tables, *other_tables)  # by other rules it is known, but no judge of itself
        self._ledger = header["ledger"]
        self._budget = budget_of(header)
        self._place = place
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
                raise self._stranger(anchors)
        elif own.sequence > history.sequence or history.digest_at(own.sequence).hex() != own.head:
            raise self._older(f"it has {history.sequence} events, {own.sequence} are on record")

    def check_answers(self, written: tuple[int, str | None] | None, history: History) -> None:
        """``LedgerError`` where the answers beside the ledger were written when it was further, or another one.

        ``written``: the last event and, if it was noted, the chain's head (hex) that they knew of.
        """
        if written is not None:
            sequence, head = written
            if sequence > history.sequence or head not in (None, history.digest_at(sequence).hex()):
                raise self._older(
                    f"it has {history.sequence} events, the answers beside it were given after event {sequence}"
                )

    def _older(self, seen: str) -> LedgerError:
        known = [] if self._registry is None else [k for k in self._registry.known() if k.ledger == self._ledger]
        return older_copy(self._path, seen, known, self._epsilon)

    @property
    def _epsilon(self) -> float | None:
        return None if self._budget is None else float(self._budget[0])

    def _stranger(self, anchors: Mapping[str, Anchor]) -> LedgerError:
        known = [] if self._registry is None else [k for k in self._registry.known() if k.ledger in anchors]
        first = next(iter(anchors.values())).path
        spend = f" ({known[0].spend})" if known else ""
        return LedgerError(
            f"the ledger {self._path} is not the one known for these data, {first}{spend}",
            hint=f"open that one with --ledger, or decide on another budget with {NEW_BUDGET}: "
            f"{price(known, self._epsilon)}",
        )

    def record(self, history: History, *, sync: bool = False, opening: bool = False) -> None:
        """Tell the registry how far the ledger has come.

        ``LedgerError`` where another ledger took its place, which happens before its first event only, and counts from
        then on; ``opening`` takes it up again. And where a copy of it went on: this one then spends nothing more.
        """
        if self._registry is None:
            return
        anchor = Anchor(self._ledger, str(self._path), history.sequence, history.head.hex())
        forgotten = copied = False
        try:
            with self._registry.exclusive(*self._recorded):
                forgotten = not opening and self._registry.forgot(self._ledger)
                copied = any(self._went_on_elsewhere(table, history) for table in self._tables)
                if not (forgotten or copied):
                    for table in self._recorded:
                        self._registry.record(table, anchor, sync=sync)
                    self._registry.tell(self._known(history), sync=sync)
        except (OSError, LedgerError):
            self.notices.append(f"{self._registry.directory} cannot be written: an older ledger would not be noticed")
            self._registry = None
        if forgotten:
            raise LedgerError(
                f"another ledger took the place of {self._path} before anything was spent under it",
                hint="close this session and open that ledger",
            )
        if copied:
            raise LedgerError(
                f"a copy of the ledger {self._path} was spent from while this one was open",
                hint="close this session and go on with that copy: the losses of both would add up",
            )

    def _went_on_elsewhere(self, table: str, history: History) -> bool:
        """Whether what is on record is no state of this file; of this very file others may have recorded later ones."""
        own = {} if self._registry is None else self._registry.anchors(table)
        if self._ledger not in own:
            return False
        anchor = own[self._ledger]
        if anchor.sequence > history.sequence:
            return not same_file(Path(anchor.path), self._path)
        return history.digest_at(anchor.sequence).hex() != anchor.head

    def _known(self, history: History) -> Known:
        epsilon = spent = None
        if self._budget is not None:
            totals, (exact, units) = history.balance.totals, self._budget
            epsilon, spent = float(exact), float(exact * (totals.spent + totals.reserved) / units)
        databases, tables = self._place.addresses, self._place.tables
        return Known(self._ledger, str(self._path), history.sequence, databases, tables, epsilon, spent)
