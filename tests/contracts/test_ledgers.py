"""Both ledgers keep the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.ledger import Ledger, MemoryLedger, SqliteLedger
from tests.contracts.ledger_contract import HEADER, LedgerContract


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def ledger(self) -> Ledger:
        return MemoryLedger(HEADER)


class TestSqliteLedger(LedgerContract):
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        ledger = SqliteLedger.open(tmp_path / "a.ledger", HEADER)
        yield ledger
        ledger.close()


class TestSqliteLedgerAmongOthers(LedgerContract):
    """The same while another session has the file open."""

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        path = tmp_path / "a.ledger"
        with SqliteLedger.open(path, HEADER), SqliteLedger.open(path, HEADER) as ledger:
            yield ledger
