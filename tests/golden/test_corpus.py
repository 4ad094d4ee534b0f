"""The corpus: every statement gets the verdict beside it, and the accepted ones answer as DuckDB does."""

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import report
from benchmarks.corpus import __main__ as command
from benchmarks.corpus.statements import ANSWERED, KINDS, Case, every, families, summary
from benchmarks.corpus.truth import compared
from benchmarks.corpus.verdicts import verdicts

CASES = every()
LEAST = {"statements": 400, "of a kind": 10}
COVERED, ALONE, MANY = 0.95, 0.6, 20
"""Bars are to hold 95 % of the numbers: all the corpus's together, and not much less of a statement with many."""


def case(sql: str, wanted: str, verdict: str, words: str = "") -> Case:
    return Case("family", "section", sql, 0, wanted, words, verdict)  # type: ignore[arg-type]


def test_every_statement_gets_the_verdict_beside_it() -> None:
    """After a change that is meant: ``python -m benchmarks.corpus --write``."""
    found = verdicts(CASES)
    differing = [
        f"{c.family}: {c.sql}\n  {c.verdict}\n  {v}" for c, v in zip(CASES, found, strict=True) if c.verdict != v
    ]
    assert not differing, "\n".join(differing)


def test_every_refusal_says_what_to_write_instead() -> None:
    refused = [c for c in CASES if c.verdict != ANSWERED]
    assert all(" | " in c.verdict and not c.verdict.endswith((" | ", " | None")) for c in refused)


def test_the_corpus_is_large_and_has_every_kind() -> None:
    assert len(CASES) >= LEAST["statements"]
    assert len({(c.family, c.sql) for c in CASES}) == len(CASES)
    assert set(Counter(c.kind for c in CASES)) == set(range(len(KINDS)))
    assert min(Counter(c.kind for c in CASES).values()) >= LEAST["of a kind"]


def test_a_refusal_is_as_wanted_only_with_its_words() -> None:
    said = "UnsupportedQuery: line 1, column 1: TOP is not answered | write LIMIT 5"
    assert case("x", "refused", said, "LIMIT").as_wanted
    assert not case("x", "refused", said, "quotes").as_wanted
    assert not case("x", "refused", ANSWERED, "LIMIT").as_wanted
    assert not case("x", "answered", said).as_wanted
    assert case("x", "unanswerable", said, "it shows rows").as_wanted
    assert not case("x", "unanswerable", "SqlSyntaxError: syntax error | None", "it shows rows").as_wanted


def test_the_summary_counts() -> None:
    found = [
        case("a", "answered", ANSWERED),
        case("b", "answered", "E: no | yes"),
        case("c", "refused", "E: no | yes", "yes"),
    ]
    row = summary(found, lambda c: c.family, "family")[-1]
    assert (row["statements"], row["answered"], row["of these"], row["with the words"]) == (3, 1, "50 %", 1)


def test_the_command_prints_every_family(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "verdicts", lambda found: [c.verdict for c in found])
    result = CliRunner().invoke(command.main, ["--refused"])
    assert result.exit_code == 0
    assert all(f"\n{family} " in result.output for family in (*families(), "all"))


@pytest.mark.slow
@pytest.mark.statistical
def test_accepted_statements_answer_as_duckdb_does(tmp_path: Path) -> None:
    """At epsilon 100 the bars of all numbers hold DuckDB's own answer about as often as they say."""
    found = list(compared([c for c in CASES if c.verdict == ANSWERED], tmp_path))
    numbers, inside = sum(f.numbers for f in found), sum(f.inside for f in found)
    assert numbers > 1000
    assert inside >= COVERED * numbers, [(f.case.sql, f.numbers, f.inside) for f in found if f.inside < 0.8 * f.numbers]
    assert [f.case.sql for f in found if f.numbers >= MANY and f.inside < ALONE * f.numbers] == []
