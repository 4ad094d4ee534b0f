"""Addresses as libpq reads them: no piece of a password is taken for anything that is shown."""

import pytest

from dpsql.dialect.address import ServerAddress
from dpsql.errors import EngineError


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("postgresql://", "postgresql://localhost:5432/"),
        ("postgresql:///clinic", "postgresql://localhost:5432/clinic"),
        ("postgres://DB.example/clinic?sslmode=require", "postgresql://db.example:5432/clinic"),
        ("postgresql://db:6543/clinic", "postgresql://db:6543/clinic"),
        ("postgresql://db:/clinic", "postgresql://db:5432/clinic"),
        ("postgresql://[::1]:6543/clinic", "postgresql://::1:6543/clinic"),
        ("postgresql://one:1,two:2/clinic", "postgresql://one,two:1,2/clinic"),
        ("postgresql://%2Frun%2FPg/clinic", "postgresql:///run/Pg:5432/clinic"),
        ("postgresql:///clinic?host=/run/Pg&port=1", "postgresql:///run/Pg:1/clinic"),
        ("postgresql://a/clinic?host=b&dbname=c", "postgresql://b:5432/c"),
        ("postgresql://db?dbname=c%20d", "postgresql://db:5432/c d"),
    ],
)
def test_what_a_database_is_known_by(address: str, public: str) -> None:
    found = ServerAddress.of(address)
    assert (found.public, found.has_password) == (public, False)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("postgresql://ann:secret@db/clinic", "postgresql://db:5432/clinic"),
        ("postgresql://ann:secret@db", "postgresql://db:5432/ann"),
        ("postgresql://ann:secret#?x@db/clinic", "postgresql://db:5432/clinic"),
        ("postgresql://ann:se:cret@db/clinic", "postgresql://db:5432/clinic"),
        ("postgresql://ann:12#secret@db/clinic", "postgresql://db:5432/clinic"),
        ("postgresql://:secret@/clinic", "postgresql://localhost:5432/clinic"),
        ("postgresql://db/clinic?password=secret", "postgresql://db:5432/clinic"),
        ("postgresql://db/clinic?%70assword=secret", "postgresql://db:5432/clinic"),
        ("postgresql://db/clinic?user=ann&sslpassword=secret", "postgresql://db:5432/clinic"),
    ],
)
def test_passwords_are_known_and_left_out(address: str, public: str) -> None:
    found = ServerAddress.of(address)
    assert (found.public, found.has_password) == (public, True) and "secret" not in repr(found)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:se/secret@db/clinic",
        "postgresql://ann:12/secret@db/clinic",
        "postgresql://ann:x@secret@db/clinic",
        "postgresql://[secret/clinic",
        "postgresql://db/secret%00",
        "postgresql://db:secret/clinic",
        "postgresql://db/clinic?port=1@secret",
    ],
)
def test_what_cannot_be_told_apart_is_refused_unseen(address: str) -> None:
    with pytest.raises(EngineError, match="cannot be read") as caught:
        ServerAddress.of(address)
    assert "secret" not in f"{caught.value}{caught.value.hint}" and caught.value.__context__ is None


def test_what_an_address_leaves_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGDATABASE", "clinic")
    assert ServerAddress.of("postgresql://").public == ServerAddress.of("postgresql://db.example:6543/clinic").public
