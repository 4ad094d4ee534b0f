"""The master test: two databases that differ in one unit give the same of everything that is not noisy."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import dpsql
from dpsql.interface.cli import cli
from tests.support import city, statements
from tests.support.command_line import runner
from tests.support.fuzz import damaged
from tests.support.lessons import learned_briefly

CANARY = "CANARY"
CANARY_NUMBERS = ("987654321", "77700123", "8765.4321", "424242", "1999-09-09")
"""Row values that neither the policy nor any statement holds; they must never be shown."""

PERSON = "INSERT INTO people VALUES (5, true, 'north', '2020-05-05', 33, 'name3', 'CANARY-secret', 987654321)"
SINGLE: Mapping[str, tuple[str, ...]] = {
    "one more": (PERSON,),
    "one less": ("DELETE FROM people WHERE rowid = 17",),
    "a string of its own": (
        "INSERT INTO people VALUES (5, true, 'north', '2020-05-05', 33, 'only here', 'CANARY-secret', 987654321)",
    ),
    "outside the domain": (
        "INSERT INTO people VALUES (77700123, NULL, 'CANARY-region', '1999-09-09', 8765.4321, 'name1', NULL, NULL)",
    ),
    "not a number": ("INSERT INTO people VALUES (NULL, NULL, '', 'infinity', 'nan', '', NULL, -9223372036854775808)",),
    "a long string": (
        "INSERT INTO people VALUES (1, false, repeat('CANARY', 5000), NULL, -1e308, repeat('CANARY', 50000), '', 0)",
    ),
    "a unit with many rows": (
        "INSERT INTO visits SELECT 424242, 1 + i, 'walk', 'CANARY-place', 'CANARY-note' FROM range(6) t(i)",
    ),
    "a unit of nobody": ("INSERT INTO visits VALUES (NULL, 99, 'CANARY-kind', NULL, NULL)",),
}
ODD = ("outside the domain", "not a number", "a long string", "a unit of nobody")
TWINS: Mapping[str, tuple[str, ...]] = {
    **{name: extra for name, extra in SINGLE.items() if name not in ODD},
    "odd values": tuple(statement for name in ODD for statement in SINGLE[name]),
}
"""For every run the odd values come together: what they must not change is the same."""
EMPTY = ("DELETE FROM people", "DELETE FROM visits")

PROBES = (
    "SELECT COUNT(*) FROM people WHERE name = 'only here'",
    "SELECT COUNT(*) FROM people WHERE name IN ('only here', 'not here')",
    "SELECT COUNT(*) FROM people WHERE name = 'only here' AND region = 'north'",
    "SELECT name, COUNT(*) FROM people WHERE name IN ('only here', 'not here', 'name3') GROUP BY name",
    "SELECT COUNT(*) FROM people WHERE CAST(name AS INTEGER) = 1 AND name = 'only here'",
    "SELECT COUNT(*) FROM people WHERE name = 'only here' AND error(name)",
    "SELECT COUNT(*) FROM people WHERE 1 / (length(name) - 9) > 0 AND name = 'only here'",
)
SEEDS = (*statements.STABLE, *statements.REFUSED)
FUZZED = tuple(damaged(7, SEEDS, 250))
Observed = list[tuple[str, Any]]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One place for all twins, so that paths in notices are equal."""
    folder = tmp_path_factory.mktemp("twins")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
        learned_briefly(patch)
        yield folder / "city"


@pytest.fixture(scope="module")
def base(directory: Path) -> "Observed":
    return observed(directory, ())


def chain(error: BaseException | None) -> Iterator[Any]:
    """An error, its causes and contexts: class, text and attributes."""
    while error is not None:
        kept = getattr(error, "__dict__", {})  # of a compiled parser there is none
        yield type(error).__qualname__, str(error), repr(error), sorted((k, repr(v)) for k, v in kept.items())
        if error.__cause__ is not None:
            yield from chain(error.__cause__)
        error = error.__context__


def planned(con: dpsql.Connection, text: str) -> Any:
    """The plan of a statement that nobody asked yet, or how it is refused."""
    try:
        return repr(con.explain(text))
    except dpsql.Error as error:
        return list(chain(error))


def shown(con: dpsql.Connection, text: str, *, stable: bool) -> Any:
    """All of an answer that is not noisy, or how it is refused and at what charge."""
    before = con.budget
    try:
        cursor = con.execute(text)
    except dpsql.Error as error:
        return list(chain(error)), con.budget == before
    out: list[Any] = [cursor.description, len(cursor.answers) if stable else None, cursor.result.types]
    if stable:
        released = cursor.result.column_answers
        table = cursor.to_arrow_table()
        columns = [c.to_pylist() for i, c in enumerate(table.columns) if i not in released]
        out += [repr(columns), table.num_rows, repr(table.schema), sorted(released)]
    return out


def without_broken_quotes() -> str:
    return ";\n".join(s for s in statements.REFUSED if s.count("'") % 2 == 0 and ";" not in s)


def command_lines(database: Path) -> list[Any]:
    """What the command line says of refusals, before anything is asked."""
    script = database.parent / "refused.sql"
    script.write_text(without_broken_quotes())
    calls: Sequence[tuple[list[str], str | None]] = (
        (["budget", str(database), "--json"], None),
        (["run", str(database), str(script), "--keep-going"], None),
        (["run", str(database), str(script), "--keep-going", "--format", "jsonl"], None),
        (["explain", str(database), "SELECT region, COUNT(*) FROM people WHERE name = 'only here' GROUP BY ALL"], None),
        (["query", str(database), "SELECT name FROM people"], None),
        (
            ["shell", str(database)],
            "\\d\n\\d people\n\\d visits\nSELECT name FROM people;\nSELECT nonsense;\n\\budget\n",
        ),
        (["budget", str(database)], None),
    )
    line = runner()
    done = [line.invoke(cli, arguments, input=typed, catch_exceptions=False) for arguments, typed in calls]
    return [(call.exit_code, call.stdout, call.stderr) for call in done]


def canaries(text: str) -> list[str]:
    """Those that are in it, numbers as they stand alone: among the digits of noise any six occur by chance."""
    alone = [c for c in CANARY_NUMBERS if re.search(rf"(?<![0-9A-Za-z.+/]){c}(?![0-9A-Za-z+/])", text)]
    return [c for c in (CANARY,) if c in text] + alone


def observed(directory: Path, extra: Sequence[str], rows: int = 3000, texts: Sequence[str] = FUZZED) -> Observed:
    """Everything public of a fresh database, in one place: the same questions in the same order."""
    database = city.build(directory, rows=rows, extra=extra)
    state = directory.parent / "state"
    shutil.rmtree(state, ignore_errors=True)  # else the same place would be the same people
    out: Observed = [("command line", command_lines(database))]
    with dpsql.connect(database) as con:
        out += [("budget", con.budget), ("tables", repr(con.tables())), ("notices", con.notices)]
        everything = (
            *statements.STABLE,
            *statements.RELEASED,
            *statements.REFUSED,
            *PROBES,
            *statements.COMMANDS,
            *statements.golden(),
        )
        out += [(f"plan of {text}", planned(con, text)) for text in (*everything, *texts)]
        out.append(("budget after plans", con.budget))
        out += [(text, shown(con, text, stable=False)) for text in statements.REFUSED]
        out.append(("budget after refusals", con.budget))
        out += [(text, shown(con, text, stable=True)) for text in (*statements.COMMANDS, *statements.STABLE)]
        out += [(text, shown(con, text, stable=False)) for text in (*statements.RELEASED, *PROBES)]
        out.append(("plan", con.session.tables()))
    files = [*directory.glob("city.dpsql*"), *(p for p in state.rglob("*") if p.is_file())]
    written = b"\n".join(file.read_bytes() for file in files).decode("latin-1")
    assert not canaries(written)
    return out


def compare(one: Observed, other: Observed) -> None:
    assert len(one) == len(other) > 500
    for (name, here), (_, there) in zip(one, other, strict=True):
        assert here == there, name
    for name, here in (*one, *other):
        text = json.dumps(here, default=repr)
        assert not canaries(text), name


def test_a_row_that_is_shown_would_be_found() -> None:
    for text in ("[5, 424242]", "424242.0", "-424242", '"77700123"', "8765.4321", "a CANARY-secret", "1999-09-09"):
        assert canaries(text), text
    for text in ("1424242", "0.42424217", "0x1.424242p+3", "Zm424242/9", "4242421"):
        assert not canaries(text), text


@pytest.mark.parametrize("twin", TWINS)
def test_twins_cannot_be_told_apart(directory: Path, base: Observed, twin: str) -> None:
    compare(base, observed(directory, TWINS[twin]))


def test_an_empty_table_cannot_be_told_from_one_row(directory: Path) -> None:
    compare(observed(directory, EMPTY, rows=10), observed(directory, (*EMPTY, PERSON), rows=10))


def test_a_public_row_would_be_seen(directory: Path, base: Observed) -> None:
    planned_last = [name for name, _ in base].index("budget after plans")
    told = base[: planned_last - len(FUZZED)] + base[planned_last:]
    changed = observed(directory, ("INSERT INTO regions VALUES ('east', 'C')",), texts=())
    assert [name for name, _ in told] == [name for name, _ in changed]
    with pytest.raises(AssertionError):
        compare(told, changed)


@pytest.mark.slow
@pytest.mark.parametrize("twin", SINGLE)
def test_twins_cannot_be_told_apart_by_many_texts(directory: Path, twin: str) -> None:
    texts = tuple(damaged(8, SEEDS, 10_000))
    compare(observed(directory, (), texts=texts), observed(directory, SINGLE[twin], texts=texts))
