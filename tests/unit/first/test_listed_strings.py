"""Strings that hard rounds listed and measured tell how strings are drawn; those that were shown do not."""

from tests.support.asking import ask
from tests.support.warm import ledger_of
from tests.unit.first.test_text_start import asker_of, policy, word


def test_only_strings_that_somebody_listed_tell_how_strings_are_drawn() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    ask(asker, word("k00"))
    model = asker.states["t"].model
    assert model is not None
    sparse = model.sparse(("w",))
    assert sparse.knows(("k00",))
    assert sparse.listed.strings == 0
    coins.hard = True
    assert ask(asker, word("r7")).source == "measurement"
    assert sparse.knows(("r7",))
    assert sparse.listed.strings == 1
