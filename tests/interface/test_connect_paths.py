"""What dpsql.connect makes of its arguments before anything is opened."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

import dpsql
from dpsql.engine.rules import Rules
from dpsql.interface.dbapi.opening import registry
from dpsql.ledger import Place, Registry
from dpsql.ledger.event import Totals
from dpsql.policy_file import dump_policy

POLICY = 'version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }\n[tables.t.columns]\nb = { type = "boolean" }\n'


class Opened:
    """Stands for the session and records how it was opened."""

    cautions = ()

    @property
    def session(self) -> "Opened":
        return self

    def __init__(self) -> None:
        self.calls: list[tuple[object, dpsql.Policy, Path | None, bool]] = []

    def __call__(self, database: object, policy: dpsql.Policy, ledger: Path | None, *, new_budget: bool) -> "Opened":
        self.calls.append((database, policy, ledger, new_budget))
        return self

    def close(self) -> None: ...


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    opened = Opened()
    monkeypatch.setattr("dpsql.interface.dbapi.connect.open_parts", opened)
    return opened


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "my.census.duckdb"
    duckdb.connect(path).close()
    (tmp_path / "my.census.dpsql.toml").write_text(POLICY, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", [str, Path])
def test_defaults_stand_beside_the_database(opened: Opened, database: Path, kind: type) -> None:
    dpsql.connect(kind(database))
    expected = dpsql.load_policy(database.parent / "my.census.dpsql.toml")
    assert opened.calls == [(database, expected, database.parent / "my.census.dpsql.ledger", False)]


def test_everything_can_be_named(opened: Opened, database: Path, tmp_path: Path) -> None:
    other = tmp_path / "p.toml"
    other.write_text(POLICY.replace("epsilon = 1", "epsilon = 2"), encoding="utf-8")
    dpsql.connect(database, str(other), tmp_path / "l.ledger", new_budget=True)
    policy = dpsql.load_policy(other)
    dpsql.connect(database, policy, ":memory:")
    assert opened.calls == [(database, policy, tmp_path / "l.ledger", True), (database, policy, None, False)]


def test_an_open_connection(opened: Opened, tmp_path: Path) -> None:
    with duckdb.connect() as owner:
        policy = dpsql.load_policy(POLICY)
        dpsql.connect(owner, policy, ":memory:")
        assert opened.calls == [(owner, policy, None, False)]
        for arguments in [{}, {"policy": policy}, {"ledger": ":memory:"}]:
            with pytest.raises(dpsql.InterfaceError) as caught:
                dpsql.connect(owner, **arguments)
            assert caught.value.hint.startswith("pass ")


@pytest.mark.parametrize(
    ("database", "error"),
    [
        (None, dpsql.InterfaceError),
        (3, dpsql.InterfaceError),
        (b"census.duckdb", dpsql.InterfaceError),
        ("", dpsql.InterfaceError),
        (".", dpsql.InterfaceError),
        ("..", dpsql.OperationalError),
        (":memory:", dpsql.InterfaceError),
        ("a\0b", dpsql.InterfaceError),
        ("nowhere.duckdb", dpsql.OperationalError),
        ("x" * 5000, dpsql.OperationalError),
    ],
)
def test_not_a_database(opened: Opened, database: object, error: type[dpsql.Error]) -> None:
    with pytest.raises(error) as caught:
        dpsql.connect(database, dpsql.load_policy(POLICY), ":memory:")
    assert caught.value.hint and opened.calls == []
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_connections_of_other_libraries_are_refused_in_words(opened: Opened) -> None:
    with closing(sqlite3.connect(":memory:")) as other, pytest.raises(dpsql.InterfaceError) as caught:
        dpsql.connect(other, dpsql.load_policy(POLICY), ":memory:")
    assert "sqlite3.Connection" in str(caught.value) and "postgresql://" in caught.value.hint and opened.calls == []


def test_a_policy_stands_for_the_database_that_it_names(opened: Opened, database: Path, tmp_path: Path) -> None:
    named = tmp_path / "people.dpsql.toml"
    named.write_text(f'{POLICY}[source]\npath = "{database.name}"\n', encoding="utf-8")
    policy = dpsql.load_policy(POLICY)
    dpsql.connect(named)
    dpsql.connect(str(named), ledger=":memory:")
    assert opened.calls == [
        (database, policy, tmp_path / "people.dpsql.ledger", False),
        (database, policy, None, False),
    ]
    named.write_text(f'{POLICY}[source]\nuri = "postgresql://ann@db.example/clinic"\n', encoding="utf-8")
    dpsql.connect(named)
    assert opened.calls[2] == ("postgresql://ann@db.example/clinic", policy, tmp_path / "people.dpsql.ledger", False)


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("", dpsql.PolicyError, "does not say where"),
        ('[source]\npath = "nowhere.duckdb"', dpsql.OperationalError, "no database file"),
        ('[source]\npath = "people.dpsql.toml"', dpsql.PolicyError, "is a policy"),
        ('[source]\nuri = "mysql://db.example/clinic"', dpsql.InterfaceError, "no engine for mysql"),
    ],
)
def test_a_policy_that_leads_nowhere(
    opened: Opened, tmp_path: Path, source: str, error: type[dpsql.Error], words: str
) -> None:
    named = tmp_path / "people.dpsql.toml"
    named.write_text(f"{POLICY}{source}\n", encoding="utf-8")
    with pytest.raises(error, match=words) as caught:
        dpsql.connect(named)
    assert caught.value.hint and opened.calls == []


def test_an_engine_is_a_database_by_another_name(opened: Opened, database: Path) -> None:
    policy = dpsql.load_policy(POLICY)
    dpsql.connect(engine=database)
    dpsql.connect(engine="postgresql://ann@db.example/clinic", policy=policy, ledger=":memory:")
    with duckdb.connect() as own:
        dpsql.connect(engine=own, policy=policy, ledger=":memory:")
        assert opened.calls == [
            (database, policy, database.parent / "my.census.dpsql.ledger", False),
            ("postgresql://ann@db.example/clinic", policy, None, False),
            (own, policy, None, False),
        ]
        with pytest.raises(dpsql.InterfaceError, match="two sources"):
            dpsql.connect(database, engine=own)
    with pytest.raises(dpsql.InterfaceError, match="not NoneType"):
        dpsql.connect()
    with pytest.raises(dpsql.InterfaceError, match="not NoneType"):
        dpsql.connect(policy=policy)


@pytest.mark.parametrize("name", ["people.dpsql.toml", "rules.toml"])
def test_a_policy_alone_says_where_its_rows_are(opened: Opened, database: Path, tmp_path: Path, name: str) -> None:
    named = tmp_path / name
    named.write_text(f'{POLICY}[source]\npath = "{database.name}"\n', encoding="utf-8")
    dpsql.connect(policy=named)
    ledger = tmp_path / f"{name.partition('.')[0]}.dpsql.ledger"
    assert opened.calls == [(database, dpsql.load_policy(POLICY), ledger, False)]
    with pytest.raises(dpsql.PolicyError, match="no such policy file"):
        dpsql.connect(policy=tmp_path / "missing.toml")
    with pytest.raises(dpsql.InterfaceError):
        dpsql.connect(policy="")


def test_two_policies_are_one_too_many(opened: Opened, tmp_path: Path) -> None:
    named = tmp_path / "people.dpsql.toml"
    named.write_text(POLICY, encoding="utf-8")
    with pytest.raises(dpsql.InterfaceError, match="another one"):
        dpsql.connect(named, dpsql.load_policy(POLICY))
    assert opened.calls == []


@pytest.mark.parametrize(
    "arguments", [{"policy": 3}, {"policy": ""}, {"ledger": 3}, {"ledger": ""}, {"ledger": "a\0b"}]
)
def test_not_a_policy_or_ledger(opened: Opened, database: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(dpsql.InterfaceError) as caught:
        dpsql.connect(database, **arguments)
    assert caught.value.hint and opened.calls == []


def test_a_missing_policy_points_to_init(opened: Opened, database: Path) -> None:
    (database.parent / "my.census.dpsql.toml").unlink()
    with pytest.raises(dpsql.PolicyError, match="no such policy file") as caught:
        dpsql.connect(database)
    assert "dpsql init" in caught.value.hint and opened.calls == []


class Part:
    """Stands for the engine, the ledger or the session; records when it is opened and closed."""

    def __init__(self, log: list[str], name: str, *, broken: bool = False) -> None:
        if broken:
            raise dpsql.OperationalError(f"{name} is broken")
        self.log, self.name = log, name
        log.append(f"open {name}")

    def close(self) -> None:
        self.log.append(f"close {self.name}")

    rules = Rules(fingerprint=1, unit_rows=2)

    def fingerprint(self) -> str:
        return "data"

    def table_fingerprints(self) -> tuple[str, ...]:
        return ("first", "second")

    def other_table_fingerprints(self) -> tuple[str, ...]:
        return ("third",)

    address = ""
    origins = ()
    attached = ()

    def tables_read(self) -> dict[str, frozenset[str]]:
        return {}

    def public_table(self, name: str) -> object:
        raise NotImplementedError

    def to_json(self) -> str:
        return "plan"

    def totals(self) -> Totals:
        return Totals(0, 0)


def with_parts(monkeypatch: pytest.MonkeyPatch, broken: str) -> tuple[list[str], list[dict[str, str]]]:
    """Replace the parts that connect opens; the one called ``broken`` raises."""
    log: list[str] = []
    headers: list[dict[str, str]] = []

    def part(name: str) -> Part:
        return Part(log, name, broken=name == broken)

    def ledger(header: dict[str, str]) -> Part:
        headers.append(header)
        return part("ledger")

    def module(name: str, **content: object) -> None:
        found = ModuleType(name)
        vars(found).update(content)
        monkeypatch.setitem(sys.modules, name, found)

    module("dpsql.engine.duckdb.engine", DuckDbEngine=lambda *given: part("engine"))
    module("dpsql.public.locked_duckdb", DuckDbPublicSql=lambda read: object())
    modules = {"SqliteLedger": None, "stored_header": None, "Place": Place, "Registry": Registry}
    modules |= {
        "Contents": lambda folder, trusted: None,
        "default_state_directory": Path,
        "refuse_unrecorded": lambda *told, new_budget: None,
    }
    module("dpsql.ledger", MemoryLedger=ledger, **modules)
    module("dpsql.mechanism", SystemEntropy=object)
    module("dpsql.session", open_session=lambda *parts: part("session"))
    module("dpsql.planning", make_plan=lambda policy: part("plan"), paper_notices=lambda plan, policy: ())
    return log, headers


def test_the_ledger_is_bound_to_policy_data_and_plan(monkeypatch: pytest.MonkeyPatch, database: Path) -> None:
    log, headers = with_parts(monkeypatch, broken="")
    con = dpsql.connect(database, ledger=":memory:")
    policy = dpsql.load_policy(POLICY)
    bound = {"policy": policy.digest, "data": "data", "tables": "first second", "plan": "plan"}
    bound |= {"engine": "engine", "fingerprint": "1", "unit_rows": "2", "numbers": "2"}
    assert headers == [{**bound, "row_counts": "declared", "rules": dump_policy(policy)}]
    assert log == ["open engine", "open plan", "open ledger", "open session"]
    con.close()
    assert log[4:] == ["close session"]  # which closes its ledger and engine


@pytest.mark.parametrize(
    ("broken", "closed"),
    [("engine", []), ("plan", ["engine"]), ("ledger", ["engine"]), ("session", ["ledger", "engine"])],
)
def test_a_failure_closes_what_was_opened(
    monkeypatch: pytest.MonkeyPatch, database: Path, broken: str, closed: list[str]
) -> None:
    log, _ = with_parts(monkeypatch, broken)
    with pytest.raises(dpsql.OperationalError, match=f"{broken} is broken") as caught:
        dpsql.connect(database, ledger=":memory:")
    assert [entry for entry in log if entry.startswith("close")] == [f"close {name}" for name in closed]
    assert caught.value.__context__ is None


def test_without_a_home_the_registry_needs_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("dpsql.ledger.default_state_directory", homeless)
    with pytest.raises(dpsql.LedgerError) as caught:
        registry()
    assert "DPSQL_STATE_HOME" in caught.value.hint and caught.value.__context__ is None


def test_importing_dpsql_loads_no_engine() -> None:
    heavy = ("duckdb", "sqlglot", "opendp", "sqlite3", "pandas", "polars", "prompt_toolkit")
    script = f"import dpsql, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_text_of_a_policy_is_no_path(database: Path) -> None:
    with pytest.raises(dpsql.InterfaceError, match="not its text") as caught:
        dpsql.connect(database, policy=POLICY)
    assert caught.value.hint == "pass policy=dpsql.load_policy(text)"
