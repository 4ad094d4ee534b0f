"""Laws of the ledger: both twins agree, the fold of the events is the totals, a restart changes nothing."""

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dpsql.errors import LedgerError
from dpsql.ledger import MemoryLedger, SqliteLedger, Totals
from dpsql.result import Answer
from tests.contracts.ledger_contract import HEADER, any_cost

numbers = st.one_of(st.integers(), st.floats(allow_nan=False))
answers = st.builds(
    Answer,
    st.none() | numbers,
    st.none() | st.floats(0),
    st.none() | st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)),
    st.sampled_from(["exact", "calibrated"]),
    st.sampled_from(["public", "hypothesis", "measurement"]),
    st.booleans(),
    st.none() | st.floats(0),
    st.floats(0, 1),
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


class Twins(RuleBasedStateMachine):
    """The same calls on both; reservation numbers are the same, being sequence numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.memory = MemoryLedger(HEADER)
        self.sqlite = SqliteLedger.open(self.directory / "a.ledger", HEADER)
        self.last = 0

    def both(self, action: str, *arguments: object) -> None:
        outcomes = []
        for ledger in (self.memory, self.sqlite):
            try:
                outcomes.append(("done", getattr(ledger, action)(*arguments)))
            except LedgerError as error:
                outcomes.append(("refused", error.message))
        assert outcomes[0] == outcomes[1]

    @rule(cost=st.integers(0, 10**25), share=st.integers(0, 4))
    def reserve(self, cost: int, share: int) -> None:
        self.both("reserve", cost, any_cost, {"burn": cost * share // 4})

    @precondition(lambda self: self.memory.events())
    @rule(data=st.data(), payload=st.dictionaries(keys, numbers))
    def hard(self, data: st.DataObject, payload: dict[str, object]) -> None:
        self.both("hard", data.draw(st.integers(1, len(self.memory.events()))), payload)

    @precondition(lambda self: self.memory.events())
    @rule(data=st.data(), pairs=st.lists(st.tuples(keys, answers), max_size=3))
    def release(self, data: st.DataObject, pairs: list[tuple[str, Answer]]) -> None:
        self.both("release", data.draw(st.integers(1, len(self.memory.events()))), {}, pairs)

    @precondition(lambda self: self.memory.events())
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        self.both("free", data.draw(st.integers(1, len(self.memory.events()))))

    @rule(pairs=st.lists(st.tuples(keys, answers), max_size=3))
    def remember(self, pairs: list[tuple[str, Answer]]) -> None:
        self.memory.remember(pairs)
        self.sqlite.remember(pairs)  # which learns what was there when it writes

    @rule(key=keys)
    def lookup(self, key: str) -> None:
        self.both("lookup", key)

    @rule(some=st.lists(keys, max_size=4))
    def lookup_all(self, some: list[str]) -> None:
        self.both("lookup_all", some)

    @precondition(lambda self: self.memory.totals().reserved == 0 and not self.memory.open_reservations)
    @rule()
    def restart(self) -> None:
        self.sqlite.close()
        self.sqlite = SqliteLedger.open(self.directory / "a.ledger", HEADER)

    @invariant()
    def same_state(self) -> None:
        assert self.memory.totals() == self.sqlite.totals()
        assert self.memory.events() == self.sqlite.events()
        assert self.memory.count_answers() == self.sqlite.count_answers()

    @invariant()
    def totals_are_the_fold_of_the_events(self) -> None:
        events = self.sqlite.events()
        spent = sum(event.cost for event in events if event.kind in ("release", "burn"))
        closed = {event.reservation for event in events if event.kind in ("release", "burn", "free")}
        reserved = sum(event.cost for event in events if event.kind == "reserve" and event.sequence not in closed)
        assert self.sqlite.totals() == Totals(spent, reserved)

    def teardown(self) -> None:
        self.sqlite.close()
        self.memory.settle(None)
        spent = self.memory.totals().spent
        self.memory.close()
        with SqliteLedger.open(self.directory / "a.ledger", HEADER) as sqlite:
            assert sqlite.totals().reserved == 0
            assert sqlite.totals().spent == spent
        shutil.rmtree(self.directory)


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
