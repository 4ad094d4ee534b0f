"""The corpus beside another library: what it is told, what is counted, and what is said where it is not installed."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.corpus import beside as command
from benchmarks.corpus.beside import beside, export
from benchmarks.corpus.statements import ANSWERED, Case
from benchmarks.corpus.tables import ROWS
from benchmarks.peers.smartnoise_corpus import forms, verdict


class Reader:
    """Parses what names its table with a schema, validates counts, and answers those without WHERE."""

    def parse_query_string(self, sql: str) -> str:
        if "main." not in sql:
            raise ValueError("no metadata")
        return sql

    def _rewrite_ast(self, sql: str) -> None:
        if "COUNT" not in sql:
            raise ValueError("rows")

    def execute(self, sql: str) -> list[Any]:
        if "WHERE" in sql:
            raise ValueError("no such function")
        return [["n"], [3]]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT COUNT(*) FROM people", "executed"),
        ("SELECT COUNT(*) FROM people WHERE x", "accepted"),
        ("SELECT age FROM people", "refused"),
    ],
)
def test_a_statement_comes_as_far_as_its_best_form(sql: str, wanted: str) -> None:
    assert verdict(Reader(), sql, ["people", "pets"])["verdict"] == wanted


def test_tables_are_tried_behind_their_schema_and_without_quotes() -> None:
    found = forms('SELECT "a" FROM people JOIN main.pets', ["people", "pets"])
    assert found[1:] == ['SELECT "a" FROM main.people JOIN main.pets', "SELECT a FROM main.people JOIN main.pets"]


def test_what_another_library_is_told(tmp_path: Path) -> None:
    export(tmp_path, [Case("f", "s", "SELECT 1", 0, "answered", "", ANSWERED)])
    told = json.loads((tmp_path / "metadata.json").read_text())[""]["main"]
    assert told["students"]["age"] == {"type": "int", "lower": 13, "upper": 20}
    assert told["students"]["rows"] == ROWS
    assert told["students"]["row_privacy"] is True
    assert told["hits"]["UserID"] == {"type": "int", "private_id": True}
    assert json.loads((tmp_path / "statements.json").read_text()) == ["SELECT 1"]


def test_what_is_counted() -> None:
    cases = [Case("f", "s", f"SELECT {i}", 0, "answered", "", v) for i, v in enumerate((ANSWERED, "E: no | yes", "E"))]
    theirs = [{"verdict": "accepted"}, {"verdict": "executed"}, {"verdict": "refused"}]
    row = beside(cases, theirs)[-1]
    assert list(row.values())[1:] == [3, 1, 2, 1, 1]


def test_without_the_library_the_command_says_how_to_install_it() -> None:
    result = CliRunner().invoke(command.main, ["--python", "false"])
    assert result.exit_code == 0
    assert "pip install smartnoise-sql" in result.output
