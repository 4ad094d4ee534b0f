"""What dpsql.connect makes of its arguments before anything is opened."""

from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.interface import connect as connect_module

POLICY = 'version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }\n[tables.t.columns]\nb = { type = "boolean" }\n'


class Opened:
    """Stands for the session and records how it was opened."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, dpsql.Policy, Path | None, bool]] = []

    def __call__(self, database: object, policy: dpsql.Policy, ledger: Path | None, *, new_budget: bool) -> "Opened":
        self.calls.append((database, policy, ledger, new_budget))
        return self

    def close(self) -> None: ...


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    opened = Opened()
    monkeypatch.setattr(connect_module, "_open", opened)
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
