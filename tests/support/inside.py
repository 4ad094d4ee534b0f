"""Real connections, and what their sessions are made of: for tests that compare what is shown with what is kept."""

from dataclasses import dataclass
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

import dpsql
from dpsql.accounting import Plan
from dpsql.ledger import SqliteLedger
from dpsql.session import session
from dpsql.session.asker import Asker


@dataclass(frozen=True)
class Inside:
    ledger: SqliteLedger | None
    """``None`` for one in memory."""
    asker: Asker

    @property
    def plan(self) -> Plan:
        return self.asker.plan


_made: "WeakKeyDictionary[dpsql.Connection, Inside]" = WeakKeyDictionary()


def connect(*given: Any, **named: Any) -> dpsql.Connection:
    """``dpsql.connect``; ``inside`` gives what it has opened."""
    ledgers, askers = [], []

    def opens(*given: Any, **named: Any) -> SqliteLedger:
        ledgers.append(open_ledger(*given, **named))
        return ledgers[-1]

    def makes(*given: Any) -> Asker:
        askers.append(Asker(*given))
        return askers[-1]

    open_ledger = SqliteLedger.open
    with patch.object(SqliteLedger, "open", opens), patch.object(session, "Asker", makes):
        con = dpsql.connect(*given, **named)
    (asker,) = askers
    _made[con] = Inside(ledgers[0] if ledgers else None, asker)
    return con


def inside(con: dpsql.Connection) -> Inside:
    return _made[con]
