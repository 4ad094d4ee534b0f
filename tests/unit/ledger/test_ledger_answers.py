"""Answers beside the ledger: fast, flat in memory, and worth nothing when lost."""

import sqlite3
import tracemalloc
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from dpsql.ledger import SqliteLedger, Totals
from dpsql.ledger.sqlite import answer_store
from dpsql.ledger.sqlite.answer_store import AnswerStore
from dpsql.ledger.sqlite.file import SqliteFile
from dpsql.result import Answer
from tests.contracts.ledger_contract import EASY, HEADER, PAID, any_cost, crosstab


def number(value: int) -> Answer:
    return Answer(value, 1.0, (0.0, 2.0), "calibrated", "hypothesis", certified=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with one paid answer and one free answer, closed."""
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.release(ledger.reserve(10, any_cost, {}), {}, [("paid", PAID)])
        ledger.remember([("free", EASY)])
    return path


def answers_file(path: Path) -> Path:
    return path.with_name("a.ledger.answers")


def test_remembered_across_sessions(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as ledger:
        assert (ledger.lookup("paid"), ledger.lookup("free")) == (PAID, EASY)
        assert ledger.count_answers() == (2, 1)


def test_what_is_remembered_is_seen_by_others_at_once_and_in_a_loop_a_moment_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(answer_store, "monotonic", lambda: now[0])
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        one.remember([("first", EASY)])
        assert two.lookup("first") == EASY
        one.remember([("second", EASY)])
        assert two.lookup("second") is None
        now[0] += answer_store.BATCH_SECONDS
        one.remember([("third", EASY)])
        assert two.lookup_all(["second", "third"]) == {"second": EASY, "third": EASY}
        assert not two.remember([("third", number(7)), ("fourth", EASY)])
        assert two.lookup("third") == EASY
        now[0] += answer_store.BATCH_SECONDS
        assert two.remember([("fifth", EASY)])


def test_nobody_waits_for_a_file_that_another_process_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_store, "BATCH_SECONDS", 0.0)
    begin, waited = SqliteFile.begin, list[bool]()

    def begun(file: SqliteFile, *, waits: bool = True) -> None:
        waited.append(waits)
        begin(file, waits=waits)

    with SqliteLedger.open(path, HEADER) as one, closing(sqlite3.connect(answers_file(path))) as other:
        monkeypatch.setattr(SqliteFile, "begin", begun)
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        for i in range(20):
            one.remember([(f"q{i}", number(i))])
        assert waited == [False] * 20
        other.execute("ROLLBACK")
        one.remember([("last", EASY)])
        assert other.execute("SELECT count(*) FROM answers").fetchone()[0] >= 22
        one.remember((f"r{i}", number(i)) for i in range(answer_store.BATCH))
        assert waited[21:] == [True]


def test_a_full_batch_is_written_for_others_to_see(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_store, "monotonic", lambda: -1.0)
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        one.remember((f"q{i}", number(i)) for i in range(255))
        assert one.lookup("q0") == number(0)
        assert two.lookup("q0") is None
        one.remember([("q255", number(255))])
        assert two.lookup("q0") == number(0)
        two.remember([("q0", number(7))])
        assert two.count_answers() == (258, 257)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("q0") == number(0)
        assert ledger.count_answers() == (258, 257)


def test_many_are_looked_up_in_few_questions(path: Path) -> None:
    """Of the file, of what waits to be written, and of both where an event came before what was kept."""
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        one.remember((f"q{i}", number(i)) for i in range(1200))
        one.remember([("q1200", number(1200))])
        two.remember([("q3", number(7)), ("mine", EASY)])
        two.release(two.reserve(10, any_cost, {}), {}, [("q4", PAID)])
        keys = [*(f"q{i}" for i in range(1210)), "mine", "paid"]
        for ledger in (one, two):
            found = ledger.lookup_all(keys)
            assert found == {key: answer for key in keys if (answer := ledger.lookup(key)) is not None}
        assert (found["q3"], found["q4"], found["q1199"], found["mine"]) == (number(3), PAID, number(1199), EASY)
        assert one.lookup_all(["q1200", "nothing"]) == {"q1200": number(1200)}
        assert one.lookup_all([]) == {}


def test_any_append_writes_them_out(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        one.remember([("q", EASY)])
        one.reserve(1, any_cost, {})
        assert two.lookup("q") == EASY


def test_a_deleted_file_is_rebuilt_from_the_events(path: Path) -> None:
    answers_file(path).unlink()
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(10, 0)
        assert (ledger.lookup("paid"), ledger.lookup("free")) == (PAID, None)
        assert ledger.count_answers() == (1, 0)


@pytest.mark.parametrize("damage", ["text", "empty", "zeros", "schema", "other ledger", "entries"])
def test_a_damaged_file_is_begun_anew(path: Path, damage: str) -> None:
    file = answers_file(path)
    if damage == "text":
        file.write_text("not a database" * 1000)
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "zeros":
        file.write_bytes(file.read_bytes()[:4096] + bytes(file.stat().st_size - 4096))
    else:
        connection = sqlite3.connect(file, isolation_level=None)
        change = {
            "schema": "DROP TABLE answers",
            "other ledger": "UPDATE facts SET value = 'x' WHERE name = 'ledger'",
            "entries": "UPDATE answers SET answer = '[1,'",
        }
        connection.execute(change[damage])
        connection.close()
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(10, 0)
        assert ledger.lookup("paid") == PAID
        assert ledger.lookup("free") is None
        ledger.remember([("new", EASY)])
    with SqliteLedger.open(path, HEADER) as ledger:
        assert (ledger.lookup("paid"), ledger.lookup("new")) == (PAID, EASY)
        assert ledger.totals() == Totals(10, 0)


def test_damaged_while_open(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as ledger:
        connection = sqlite3.connect(answers_file(path), isolation_level=None)
        connection.execute("DROP TABLE answers")
        connection.close()
        assert ledger.lookup("paid") == PAID
        ledger.remember((f"q{i}", number(i)) for i in range(600))
        assert ledger.lookup("q3") == number(3)
        assert any("moved aside" in notice for notice in ledger.notices)
        ledger.reserve(1, any_cost, {})


def test_damaged_before_a_write(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as ledger:
        connection = sqlite3.connect(answers_file(path), isolation_level=None)
        connection.execute("DROP TABLE answers")
        connection.close()
        ledger.remember((f"q{i}", number(i)) for i in range(256))
        assert ledger.lookup("q3") == number(3)
        assert ledger.lookup("paid") == PAID
        assert len([notice for notice in ledger.notices if "moved aside" in notice]) == 1
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("q3") == number(3)


def test_a_spoilt_answer_does_not_stop_a_paid_one(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as ledger:
        connection = sqlite3.connect(answers_file(path), isolation_level=None)
        connection.execute("UPDATE answers SET answer = '[1,'")
        connection.close()
        ledger.release(ledger.reserve(10, any_cost, {}), {}, [("free", PAID)])
        assert ledger.lookup("free") == PAID
        assert ledger.count_answers() == (2, 0)
        assert any("moved aside" in notice for notice in ledger.notices)


def test_no_place_for_the_file(path: Path) -> None:
    answers_file(path).unlink()
    answers_file(path).mkdir()
    (answers_file(path) / "occupied").touch()
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("paid") == PAID
        ledger.remember([("q", EASY)])
        assert ledger.lookup("q") == EASY


def test_locked_by_another_costs_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_store, "_TIMEOUT", 0.01)
    with SqliteLedger.open(path, HEADER) as ledger:
        connection = sqlite3.connect(answers_file(path), isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        ledger.remember((f"q{i}", number(i)) for i in range(300))
        assert ledger.lookup("q299") == number(299)
        connection.execute("ROLLBACK")
        connection.close()
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("q299") == number(299)


def test_memory_stays_flat(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.remember((f"warm{i}", number(i)) for i in range(1000))
        tracemalloc.start()
        try:
            ledger.remember((f"q{i}", number(i)) for i in range(20_000))
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert grown < 500_000  # bytes; keeping the answers would take some ten million
        assert ledger.lookup("q17") == number(17)


def test_sessions_that_paid_for_one_question_agree_on_the_first_event(path: Path) -> None:
    """Whatever is written first: each has its own answer in memory, or the other's in the file."""
    first, second = replace(PAID, value=1), replace(PAID, value=2)
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        reservations = [ledger.reserve(10, any_cost, {}) for ledger in (one, two)]
        one.release(reservations[0], {}, [("q", first)])
        two.release(reservations[1], {}, [("q", second)])
        assert (one.lookup("q"), two.lookup("q")) == (first, first)
        one.totals()
        assert one.lookup("q") == first
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("q") == first


@pytest.mark.parametrize("late", ["the first event", "the second event"])
def test_the_first_event_holds_where_the_file_is_written_late(path: Path, late: str) -> None:
    first, second = replace(PAID, value=1), replace(PAID, value=2)
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        for ledger, answer, kept in ((one, first, "the first event"), (two, second, "the second event")):
            reservation = ledger.reserve(10, any_cost, {})
            with patch.object(AnswerStore, "flush") if late == kept else nullcontext():
                ledger.release(reservation, {}, [("q", answer)])
        two.remember([("other", EASY)])
        assert two.lookup("q") == first
        one.totals()
        assert one.lookup("q") == first
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("q") == first


def test_an_event_holds_against_a_free_answer_of_the_same_moment(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        one.remember([("q", EASY)])
        reservation = two.reserve(10, any_cost, {})
        two.release(reservation, {}, [("q", PAID)])
        assert two.lookup("q") == PAID
        one.totals()
        assert one.lookup("q") == PAID
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("q") == PAID
        assert ledger.count_answers() == (3, 1)


def test_a_file_of_before_events_were_told_apart_is_kept(path: Path) -> None:
    with sqlite3.connect(answers_file(path)) as file:
        file.execute("ALTER TABLE answers DROP COLUMN event")
    with SqliteLedger.open(path, HEADER) as ledger:
        assert (ledger.lookup("paid"), ledger.lookup("free")) == (PAID, EASY)
        assert not ledger.notices
        ledger.release(ledger.reserve(10, any_cost, {}), {}, [("free", PAID)])
        assert ledger.lookup("free") == EASY


def test_crosstabs_are_remembered_across_sessions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_store, "monotonic", lambda: -1.0)
    digests, keys, answers = crosstab(500)
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        one.remember([(keys[0], EASY)])  # waits to be written, and is before the crosstab
        assert two.remember_crosstab(b"name", digests, answers)
        assert one.lookup_crosstab(b"name") == answers
        assert not one.remember_crosstab(b"name", digests, answers)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup_all(keys) == dict(zip(keys, answers, strict=True))
        assert ledger.count_answers() == (502, 501)


@pytest.mark.parametrize("many", [False, True], ids=["all are read", "each is looked for"])
def test_single_answers_before_a_crosstab_are_found(path: Path, many: bool) -> None:
    digests, keys, answers = crosstab(100)
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.remember((f"q{i}", number(i)) for i in range(1000 if many else 20))
        assert ledger.remember_crosstab(b"less", digests[:-32], answers.among(np.arange(99)))
        ledger.remember([(keys[99], EASY)])
        assert not ledger.remember_crosstab(b"last", digests[-64 * 32 :], answers.among(np.arange(64)))
        assert ledger.lookup(keys[99]) == EASY


def test_paid_answers_that_another_file_of_answers_missed_come_before_crosstabs(path: Path) -> None:
    """The file is older than the ledger: an event answers a question of a crosstab that it holds."""
    digests, keys, answers = crosstab(100)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.remember_crosstab(b"name", digests, answers)
    older = {p: p.read_bytes() for p in path.parent.glob("a.ledger.answers*")}
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.release(ledger.reserve(10, any_cost, {}), {}, [(keys[5], PAID)])
    for p, content in older.items():
        p.write_bytes(content)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert (ledger.lookup(keys[5]), ledger.lookup(keys[6])) == (PAID, answers[6])
        assert ledger.lookup_crosstab(b"name") is None


@pytest.mark.parametrize(
    "spoilt", [b"", b"nothing", b'[3,"exact","public",null]\n123', b'[-1,"exact","public",null]\n']
)
def test_a_spoilt_crosstab_is_none(path: Path, spoilt: bytes) -> None:
    digests, keys, answers = crosstab(64)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.remember_crosstab(b"name", digests, answers)
    with closing(sqlite3.connect(answers_file(path))) as file:
        file.execute("UPDATE crosstabs SET answers = ?", (spoilt,))
        file.commit()
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup_crosstab(b"name") is None
        assert ledger.lookup("paid") == PAID and ledger.lookup(keys[0]) is None
        assert ledger.remember_crosstab(b"name", digests, answers)
        assert ledger.lookup(keys[63]) == answers[63]


def test_a_file_of_answers_without_crosstabs_is_taken_over(path: Path) -> None:
    with closing(sqlite3.connect(answers_file(path))) as file:
        file.execute("DROP TABLE crosstabs")
        file.execute("DROP TABLE places")
        file.commit()
    digests, keys, answers = crosstab(64)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("free") == EASY
        assert ledger.remember_crosstab(b"name", digests, answers) and ledger.lookup(keys[1]) == answers[1]


def test_a_crosstab_that_cannot_be_written_is_refused(path: Path) -> None:
    digests, keys, answers = crosstab(64)
    with SqliteLedger.open(path, HEADER) as ledger, closing(sqlite3.connect(answers_file(path))) as other:
        with patch.object(answer_store, "_TIMEOUT", 0.01):
            other.execute("BEGIN IMMEDIATE")
            assert not ledger.remember_crosstab(b"name", digests, answers)
            assert ledger.lookup(keys[0]) is None
            other.rollback()
        assert ledger.remember_crosstab(b"name", digests, answers)
