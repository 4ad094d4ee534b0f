"""The durable record of everything released and spent.

Privacy over restarts is only as good as this record: what it holds counts as spent, what it does not hold was never
shown.
"""

from dpsql.ledger.contents import Contents
from dpsql.ledger.event import Event, Kind, Payload, Totals
from dpsql.ledger.interrupts import interrupts_held
from dpsql.ledger.known import Place
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.protocol import Ledger
from dpsql.ledger.registry import Registry, default_state_directory, state_directory
from dpsql.ledger.sqlite.doors import refuse_unrecorded
from dpsql.ledger.sqlite.ledger import SqliteLedger
from dpsql.ledger.sqlite.opening import stored_header

__all__ = [
    "Contents",
    "Event",
    "Kind",
    "Ledger",
    "MemoryLedger",
    "Payload",
    "Place",
    "Registry",
    "SqliteLedger",
    "Totals",
    "default_state_directory",
    "interrupts_held",
    "refuse_unrecorded",
    "state_directory",
    "stored_header",
]
