"""What cannot be meant is a usage error, said before a session is opened."""

from pathlib import Path

import pytest

from dpsql import InterfaceError, ProgrammingError, UnknownName, connect
from dpsql.result import Terms
from tests.support.command_line import CommandLine
from tests.support.fake_session import FakeSession


@pytest.fixture
def dpsql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(FakeSession(), tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "SELECT 1", "--max-charge", "nan"),
        ("query", "SELECT 1", "--max-charge", "inf"),
        ("query", "SELECT 1", "--within", "nan"),
        ("query", "SELECT 1", "--within", "0"),
        ("explain", "SELECT 1", "--within", "inf"),
        ("run", "-", "--within", "nan"),
        ("synth", "-o", "x.csv", "--method", "foo"),
        ("synth", "-o", "x.csv", "--rows", "0"),
        ("synth", "--compare", "--public", "--rows", "-1"),
    ],
)
def test_numbers_and_names_that_cannot_be_meant(dpsql: CommandLine, arguments: tuple[str, ...]) -> None:
    shown = dpsql(*arguments, stdin="")
    assert (shown.exit_code, dpsql.opened) == (2, [])
    assert "within=" not in shown.stderr and "max_charge=" not in shown.stderr  # as one writes in Python


def test_an_unknown_method_is_told_which_there_are(dpsql: CommandLine) -> None:
    assert "there is no method 'foo': there are session, " in dpsql("synth", "--method", "foo").stderr


def test_terms_are_accepted_as_they_were(dpsql: CommandLine) -> None:
    assert dpsql("query", "SELECT 1", "--max-charge", "0", "--within", "1").exit_code == 0
    assert dpsql.session.terms == [Terms(1.0, 0.0)]


@pytest.mark.parametrize("terms", [{"within": 0.5}, {"max_charge": -1}])
def test_hints_suit_every_interface(terms: dict[str, float]) -> None:
    with pytest.raises(ProgrammingError) as refused:
        Terms(**terms)
    assert "=" not in refused.value.hint
    assert UnknownName("x", name="x").hint == "\\d in dpsql shell (in Python con.tables()) lists what exists"


@pytest.mark.parametrize(
    ("beside", "such"), [("", "such as {}.duckdb"), (".db", "{}.db"), (".dpsql.toml", "{}.dpsql.toml")]
)
def test_a_ledger_in_the_place_of_its_database(tmp_path: Path, dpsql: CommandLine, beside: str, such: str) -> None:
    begun = tmp_path / "adult"
    ledger = Path(f"{begun}.dpsql.ledger")
    ledger.touch()
    if beside:
        Path(f"{begun}{beside}").touch()
    shown = dpsql.plain(["budget", str(ledger)])
    assert shown.exit_code == 2
    words = f"adult.dpsql.ledger is a ledger: name its database, {such.format(begun)}"
    assert words in " ".join(shown.stderr.split())
    with pytest.raises(InterfaceError) as refused:
        connect(ledger)
    assert f"{refused.value.message}: {refused.value.hint}" == words
