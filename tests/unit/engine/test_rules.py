"""A ledger's header says by which rules its engine counts; what it does not say are the first ones."""

from dataclasses import FrozenInstanceError

import pyarrow as pa
import pytest

from dpsql.domain import BooleanDomain, TableDomain
from dpsql.engine import MemoryEngine, Rules
from dpsql.errors import EngineError, LedgerError
from tests.contracts.engine_contract import policy_of


def test_a_ledger_keeps_its_rules() -> None:
    assert Rules.of({}) == Rules() == Rules(2, 2, 2)
    assert Rules.of({"policy": "p"}) == Rules(1, 1, 1)
    for rules in (Rules(), Rules(1, 1), Rules(1, 2), Rules(2, 1), Rules(2, 2, 1)):
        assert Rules.of({"policy": "p", **rules.header()}) == rules
    with pytest.raises(FrozenInstanceError):
        Rules().unit_rows = 1  # type: ignore[misc]


@pytest.mark.parametrize("key", ["fingerprint", "unit_rows", "numbers"])
@pytest.mark.parametrize("version", ["3", "0", "", "two", "01", "-1"])
def test_rules_of_later_versions_are_refused_in_words(key: str, version: str) -> None:
    with pytest.raises(LedgerError, match=key) as caught:
        Rules.of({**Rules().header(), key: version})
    assert "version" in caught.value.hint


def test_the_twin_does_not_know_data_by_the_first_rules() -> None:
    table = TableDomain("t", (BooleanDomain("b"),))
    with pytest.raises(EngineError) as caught:
        MemoryEngine(policy_of(table), {"t": pa.table({"b": [True]})}, rules=Rules(fingerprint=1))
    assert caught.value.hint
