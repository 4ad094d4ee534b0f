"""Lists of strings that a measurement answers: moved to what is likely of them, certified by what was measured."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine
from dpsql.hypothesis.strings.drawing import MOST_MOVED
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Key, KeyedFactor, LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.strings.read import as_measured
from tests.support.asking import ask
from tests.support.entropy import SeededEntropy
from tests.support.warm import Recorder

TABLE = TableDomain("people", (CategoryDomain("a", ("x", "y"), nullable=False), TextDomain("name")))
ROWS = {"a": ["x", "y"] * 2_000, "name": ["Ada"] * 1_500 + ["Bea"] * 500 + [f"rare{i}" for i in range(2_000)]}
RULES = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000), (TABLE,), Mechanism("auto"))


def listed(*names: str) -> LinearQuery:
    keys: tuple[Key, ...] = tuple(sorted((name,) for name in names))
    return LinearQuery("people", (), KeyedFactor(("name",), keys, (), np.ones(len(keys), dtype=np.int64)))


def asker(seed: int = 1, models: int | None = None) -> Asker:
    plan = make_plan(RULES)
    plan = plan if models is None else replace(plan, models=models)
    ledger = Recorder({"plan": plan.to_json()}, [])
    return Asker(RULES, plan, MemoryEngine(RULES, {"people": ROWS}), ledger, SeededEntropy(seed))


RARE = tuple(f"rare{i}" for i in range(100))


def test_a_list_of_rare_strings_is_nearer_than_its_measurement() -> None:
    """Whose value is the older rules' answer: the coins are the same, up to rules that read what was compared, too."""
    near, raw, steps = [], [], []
    for seed in range(6):
        new, old = ask(asker(seed, 33), listed(*RARE)), ask(asker(seed, 28), listed(*RARE))
        assert (new.source, old.source) == ("measurement", "measurement")
        assert (new.error_kind, old.error_kind) == ("calibrated", "exact")
        assert new.value is not None and old.value is not None and new.error is not None and old.error is not None
        moved, sd = abs(new.value - old.value), (old.error - 1) / DEVIATIONS
        assert moved <= MOST_MOVED * sd + 2
        steps.append(moved)
        assert new.error == pytest.approx(old.error + moved, abs=2)
        assert old.certified_bound is not None
        assert new.certified_bound == old.certified_bound + moved
        near.append(abs(new.value - 100))
        raw.append(abs(old.value - 100))
    assert np.mean(near) < np.mean(raw)
    assert max(steps) > 0


def test_strings_that_were_shown_are_as_they_were_measured() -> None:
    new, old = ask(asker(1, 33), listed("Ada", "Bea")), ask(asker(1, 28), listed("Ada", "Bea"))
    assert new == old
    assert new.error_kind == ask(asker(), listed("Ada", "Bea")).error_kind == "exact"


def test_groups_of_one_statement_are_one_list_and_none_is_moved_further_than_its_noise() -> None:
    """Together they tell how they were drawn; each of them is covered as it is measured."""
    one = asker()
    ask(one, listed(*RARE))
    (state,) = one.states.values()
    groups = [listed(name) for name in RARE]
    found = state.readings(groups)
    read = [f for f in found if f is not None]
    assert len(read) == len(groups)
    shown = as_measured(state, groups, read)
    moved = np.array([float(a.value or 0) - y for a, (y, _) in zip(shown, read, strict=True)])
    assert np.abs(moved).max() == pytest.approx(MOST_MOVED * read[0][1], abs=1)
    assert np.std([float(a.value or 0) for a in shown]) < np.std([y for y, _ in read])
    for answer, (y, sd) in zip(shown, read, strict=True):
        assert answer.error is not None
        assert answer.error >= DEVIATIONS * sd + abs(float(answer.value or 0) - y) - 2
