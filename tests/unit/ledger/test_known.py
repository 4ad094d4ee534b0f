"""What is known of a ledger: kept as text, told with its spend, and found again by the place of its rows."""

import json
from pathlib import Path

import pytest

from dpsql.errors import LedgerError
from dpsql.ledger import Place, Registry, SqliteLedger
from dpsql.ledger.known import Known, budget_of, price
from dpsql.ledger.sqlite.doors import earlier_ledgers
from tests.contracts.ledger_contract import HEADER, any_cost

PLAN = json.dumps({"epsilon": "3/2", "total_units": 300})
HERE = Place("/data/census.duckdb", {"adult": frozenset({"age", "sex"})})


def known(ledger: str, **told: object) -> Known:
    return Known(**{"ledger": ledger, "path": f"/{ledger}", "sequence": 1, "tables": HERE.tables, **told})


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "state")


def test_it_is_kept_as_text() -> None:
    told = known("a", databases=("/x", "/y"), epsilon=1.5, spent=0.25, forgotten=True)
    assert Known.from_json(told.to_json()) == told
    later = json.loads(told.to_json()) | {"version": "2"}
    with pytest.raises(ValueError, match="later version"):
        Known.from_json(json.dumps(later))


def test_its_spend_in_words() -> None:
    assert known("a", epsilon=1.5, spent=0.25).as_words() == "/a (epsilon 0.25 of 1.5 is spent)"
    assert known("a", sequence=0, epsilon=1.5, spent=0.0).as_words() == "/a (nothing is spent)"
    assert "by opening it" in known("a").as_words()


@pytest.mark.parametrize(
    ("plan", "budget"),
    [(PLAN, (1.5, 300)), ('{"epsilon": "1"}', None), ("", None), ("[1]", None), ('{"epsilon": "x"}', None)],
)
def test_the_budget_that_a_header_tells(plan: str, budget: tuple[float, int] | None) -> None:
    assert budget_of({"plan": plan}) == budget and budget_of({}) is None


def test_the_price_is_the_sum_of_all_budgets() -> None:
    assert "1.5 + 0.5 + 1 = 3 in all" in price([known("a", epsilon=1.5), known("b", epsilon=0.5)], 1.0)
    assert price([known("a", epsilon=1.5), known("b")], 1.0).endswith("add up, to epsilon 1 more")
    assert price([known("a", epsilon=1.5)], None).endswith("add up")


def test_the_registry_tells_the_spend_and_every_place(tmp_path: Path, registry: Registry) -> None:
    path, header = tmp_path / "a.ledger", {**HEADER, "plan": PLAN}
    for database in ("/one", "/two", "/one"):
        with SqliteLedger.open(path, header, registry=registry, place=Place(database, HERE.tables)) as ledger:
            ledger.release(ledger.reserve(50, any_cost, {}), {})
            ledger.reserve(50, any_cost, {})
            (told,) = registry.known()
    assert told.databases == ("/one", "/two") and told.tables == HERE.tables
    assert (told.epsilon, told.spent) == (1.5, 1.0)
    (told,) = registry.known()
    assert told.spent == 0.75  # what was only set aside has come back
    (file,) = (registry.directory / "known").glob("*.json")
    assert file.stat().st_mode & 0o077 == 0


def test_registries_of_earlier_versions_are_read(tmp_path: Path, registry: Registry) -> None:
    """They know fingerprints and paths; what else there is to know comes from the ledger's file near the database."""
    rules = "[tables.adult.columns]\nage = 1\nsex = 2\n"
    header = {**HEADER, "plan": PLAN, "rules": rules, "tables": "t"}
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, header) as ledger:
        ledger.release(ledger.reserve(100, any_cost, {}), {})
        entry = {"ledger": ledger.header["ledger"], "path": str(path), "sequence": 2, "head": "00"}
    with registry.exclusive("t"):
        pass
    (lock,) = (registry.directory / "ledgers").glob("*.lock")
    lock.with_suffix(".json").write_text(json.dumps({"data": "t", "ledgers": [entry]}))
    new, near = tmp_path / "b.ledger", Place(str(tmp_path / "census.duckdb"), HERE.tables)
    for tables, place in (("t", HERE), ("u", near)):
        with pytest.raises(LedgerError, match=r"a\.ledger"):
            SqliteLedger.open(new, {**header, "tables": tables}, registry=registry, place=place)
    with pytest.raises(LedgerError, match=r"epsilon 0\.5 of 1\.5 is spent") as caught:
        SqliteLedger.open(new, {**header, "tables": "u"}, registry=registry, place=near)
    assert "1.5 + 1.5 = 3 in all" in caught.value.hint
    SqliteLedger.open(new, {**header, "tables": "u"}, registry=registry, place=HERE).close()


def test_a_damaged_entry_is_not_taken_for_none(tmp_path: Path, registry: Registry) -> None:
    SqliteLedger.open(tmp_path / "a.ledger", HEADER, registry=registry).close()
    (file,) = (registry.directory / "known").glob("*.json")
    for text in ("", "[]", "{}", file.read_text().replace('"tables"', '"more"'), '{"version": "1", "tables": 3}'):
        file.write_text(text)
        with pytest.raises(LedgerError, match="damaged"):
            SqliteLedger.open(tmp_path / "b.ledger", {**HEADER, "data": "other"}, registry=registry)


def test_a_registry_that_cannot_be_written_is_still_asked(tmp_path: Path, registry: Registry) -> None:
    header = {**HEADER, "plan": PLAN}
    with SqliteLedger.open(tmp_path / "a.ledger", header, registry=registry, place=HERE) as ledger:
        ledger.reserve(1, any_cost, {})
    for file in (registry.directory / "ledgers").glob("*.lock"):  # as where the folder is read-only
        file.unlink()
        file.symlink_to(tmp_path / "nowhere" / "lock")
    with pytest.raises(LedgerError, match="already have a ledger"):
        SqliteLedger.open(tmp_path / "b.ledger", header, registry=registry, place=HERE)
    with SqliteLedger.open(tmp_path / "a.ledger", header, registry=registry, place=HERE) as ledger:
        assert any("cannot be written" in notice for notice in ledger.notices)


def found(registry: Registry, place: Place = HERE) -> list[list[str]]:
    earlier = earlier_ledgers(Path("/new"), (), place, registry)
    kinds = (earlier.same_rows, earlier.same_place, earlier.alike, earlier.gone)
    return [[entry.ledger for entry in kind] for kind in kinds]


def test_places_that_are_the_same_and_those_that_only_look_alike(tmp_path: Path, registry: Registry) -> None:
    (there := tmp_path / "there").touch()
    more = {"adult": frozenset({"age", "sex", "more"})}
    other = {"adult": frozenset({"name"})}
    with registry.exclusive("t"):
        for entry in (
            known("here", databases=("/elsewhere", HERE.database), tables=other),
            known("copy", databases=(str(there),)),
            known("wider", databases=(str(there),), tables=more),
            known("other", databases=(str(there),), tables=other),
            known("moved", path=str(there), databases=("/gone",)),
            known("address", path=str(there), databases=("postgresql://gone",)),
            known("nowhere", databases=("/gone",)),
            known("unspent", sequence=0, databases=(HERE.database,)),
            known("open", path=str(there), sequence=0, databases=(HERE.database,)),
            known("forgotten", databases=(HERE.database,), forgotten=True),
            known("in memory", path=f"{HERE.database}.ledger"),
        ):
            registry.tell(entry)
    rows, here, alike, gone = map(sorted, found(registry))
    assert (rows, here) == ([], ["here", "moved", "open"])
    assert (alike, gone) == (["address", "copy", "wider"], ["unspent"])


def test_of_several_the_one_that_has_spent_is_named(registry: Registry, tmp_path: Path) -> None:
    (there := tmp_path / "there").touch()
    with registry.exclusive("t"):
        registry.tell(known("a", path=str(there), sequence=0, databases=(HERE.database,)))
        registry.tell(known("b", path=str(there), databases=(HERE.database,)))
    assert found(registry)[1] == ["b", "a"]
