"""Rendered text, compared with what a reader should see."""

import csv
import io
import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
)
from dpsql.engine.tally import RowTally
from dpsql.interface.render.budget import bar, budget_object, render_budget
from dpsql.interface.render.domain_check import TableCheck, render_domain_check
from dpsql.interface.render.explanation import render_explanation
from dpsql.interface.render.footer import bounds
from dpsql.interface.render.listing import domain_text, render_columns, render_tables
from dpsql.interface.render.number import answer_cell, epsilon
from dpsql.interface.render.structured import (
    render_csv,
    render_json,
    render_jsonl,
    render_markdown,
    render_parquet,
    unique_names,
)
from dpsql.interface.render.style import PLAIN, Style, escape, shorten, width
from dpsql.interface.render.table import render_table
from dpsql.result import EXACT_ZERO, Answer, Budget, Explanation, Note, QueryPlan, Result, TableOutlook

BUDGET = Budget(
    1.0,
    1e-6,
    0.27,
    0.73,
    14,
    120,
    113,
    (("warm start", 0.77 - 1e-12, 0.77), ("hard rounds", 0.1, 0.2)),
    (TableOutlook("adult", "contingencies + net", 42.5), TableOutlook("pets", "frequent strings + net", None)),
)


def modelled(value: float, bound: float, *, certified: bool = True) -> Answer:
    low = max(0.0, value - bound)
    return Answer(
        value, bound, (low, value + bound), "calibrated", "hypothesis", certified, 752.0 if certified else None
    )


def measured(value: int, bound: float, charged: float) -> Answer:
    return Answer(value, bound, (value - bound, value + bound), "exact", "measurement", certified=True, charged=charged)


def result() -> Result:
    table = pa.table(
        {
            "job": ["Private", "Gov\x1b[31m", "東京", None],
            "year": [2018, 2019, 2020, None],
            "n": [33906, 8213, 12, 7654321],
        }
    )
    answers = (
        measured(33906, 96.0, 0.0123),
        modelled(8213, 131.0),
        modelled(12, 96.0),
        modelled(7654321, 31.4, certified=False),
    )
    return Result(table, ("VARCHAR", "BIGINT", "BIGINT"), {2: answers})


def text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def test_table() -> None:
    expected = """\
job          year           n
───────────  ────  ───────────────────
Private      2018      33,906  ±  96 *
Gov\\x1b[31m  2019       8,213  ± 131
東京         2020           0 to 108
NULL         NULL  ~7,654,321  ±  32
(4 rows, 41 ms)
1 measured: ±96 (95 %)
2 from the model: ±96 to ±131 (about 95 %, model estimate; certified <= 752)
~ 1 from the model: ±32 (about 95 %, model estimate; not certified)
* paid: epsilon 0.0123 of 1, 0.73 left
"""
    assert text(render_table(result(), PLAIN, budget=BUDGET, seconds=0.041)) == expected


def test_one_number() -> None:
    one = Result(pa.table({"n": [1234]}), ("BIGINT",), {0: (modelled(1234, 96.0),)})
    expected = """\
    n
──────────
1,234 ± 96
(1 row)
from the model: ±96 (about 95 %, model estimate; certified <= 752)
free: epsilon 0.73 left
"""
    assert text(render_table(one, PLAIN, budget=BUDGET)) == expected


def test_points_align_and_bounds_of_different_columns_are_not_mixed() -> None:
    table = pa.table({"n": [10, 20], "years": [38.64358, 41.2]})
    answers = {
        0: (measured(10, 3.0, 0.0), measured(20, 3.0, 0.0)),
        1: (modelled(38.64358, 0.2134), modelled(41.2, 1.02)),
    }
    lines = render_table(Result(table, ("BIGINT", "DOUBLE"), answers), PLAIN)
    assert lines[2:4] == ["10 ± 3  38.64 ± 0.22", "20 ± 3  41.20 ± 1.02"]
    assert lines[5:7] == [
        "n: 2 measured: ±3 (95 %)",
        "years: 2 from the model: ±0.22 to ±1.02 (about 95 %, model estimate; certified <= 752)",
    ]
    certain = [modelled(41.2, bound) for bound in (0.0, 1.02)]
    assert bounds(certain, PLAIN).startswith("±0.0 to ±1.1 ")


def test_numbers_without_rows_of_their_own_are_summed_up_below() -> None:
    mixed = Result(pa.table({"share": [0.25]}), ("DOUBLE",), block_answers=(measured(10, 3.0, 0.01), EXACT_ZERO))
    lines = render_table(mixed, PLAIN, budget=BUDGET)
    assert lines[2] == " 0.25"
    assert lines[4:] == [
        "1 measured: ±3 (95 %)",
        "1 public, exact: no row of the table can change it",
        "* paid: epsilon 0.01 of 1, 0.73 left",
    ]


def test_a_charge_for_rows_that_are_not_shown_is_told() -> None:
    one = Result(pa.table({"n": [1234]}), ("BIGINT",), {0: (modelled(1234, 96.0),)})
    lines = render_table(one, PLAIN, budget=BUDGET, charged=0.05)
    assert lines[-1] == "paid, rows not shown included: epsilon 0.05 of 1, 0.73 left"


def test_public_rows_have_no_charge() -> None:
    assert render_table(Result(pa.table({"a": [1]}), ("INTEGER",)), PLAIN) == ["a", "─", "1", "(1 row)"]


def test_no_rows() -> None:
    empty = Result(
        pa.table({"g": pa.array([], pa.string()), "n": pa.array([], pa.int64())}), ("VARCHAR", "BIGINT"), {1: ()}
    )
    assert render_table(empty, PLAIN) == ["g  n", "─  ─", "(0 rows)"]


def test_without_unicode_and_with_colour() -> None:
    lines = render_table(result(), Style(unicode=False))
    assert "33,906 +/-  96 *" in lines[2]
    assert lines[0] != render_table(result(), Style(colour=True))[0]
    assert render_table(result(), Style(colour=True))[0].startswith("\x1b[1m")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (measured(8213, 95.2, 0.0), ("8,213", "±", "96")),
        (modelled(3, 96.0), ("0", "to", "99")),
        (Answer(-5, 96.0, (0.0, 91.0), "exact", "measurement", certified=True), ("0", "to", "91")),
        (Answer(-300, 96.0, (0.0, 0.0), "exact", "measurement", certified=True), ("0", "", "")),
        (Answer(-300, 96.0, (-396.0, -204.0), "exact", "measurement", certified=True), ("-300", "±", "96")),
        (Answer(7, None, None, "calibrated", "hypothesis", certified=False), ("7", "±", "?")),
        (EXACT_ZERO, ("0", "", "")),
        (Answer(None, None, None, "exact", "measurement", certified=True), ("NULL", "", "")),
    ],
)
def test_cell(answer: Answer, expected: tuple[str, str, str]) -> None:
    cell = answer_cell(answer.value, answer, PLAIN)
    assert (cell.low, cell.sign, cell.high) == expected


def test_a_decimal_is_a_number_with_a_bar() -> None:
    computed = Answer(48840, 132.2, (48707.8, 48972.2), "computed", "hypothesis", certified=False)
    lines = render_table(Result(pa.table({"total": [Decimal(48840)]}), ("DECIMAL(38,0)",), {0: (computed,)}), PLAIN)
    assert lines[2].strip() == "~48,840 ± 133"
    assert lines[-2] == "~ from the model: ±133 (about 95 %, computed from released numbers; not certified)"


def test_csv() -> None:
    rows = list(csv.reader(io.StringIO(render_csv(result()))))
    assert rows[0] == ["job", "year", "n", "n_error", "n_low", "n_high", "n_source", "n_certified"]
    assert rows[1] == ["Private", "2018", "33906", "96.0", "33810.0", "34002.0", "measurement", "true"]
    assert rows[2][0] == "Gov\x1b[31m"
    assert (rows[4][:4], rows[4][-1]) == (["", "", "7654321", "31.4"], "false")
    assert "\x1b" not in render_csv(result(), escaped=True)


def test_json() -> None:
    rows = json.loads(render_json(result()))
    assert [r["job"] for r in rows] == ["Private", "Gov\x1b[31m", "東京", None]
    assert rows[0]["n"] == {
        "value": 33906,
        "error": 96.0,
        "low": 33810.0,
        "high": 34002.0,
        "certified": True,
        "certified_bound": None,
        "source": "measurement",
        "error_kind": "exact",
        "charged": 0.0123,
    }
    assert [json.loads(line) for line in render_jsonl(result()).splitlines()] == rows
    assert "\x1b" not in render_json(result())


def test_json_of_what_json_lacks() -> None:
    table = pa.table({"d": [date(2020, 1, 2)], "x": [float("nan")], "l": [[1, None]], "b": [b"\x00\xff"]})
    (row,) = json.loads(render_json(Result(table, ("DATE", "DOUBLE", "INTEGER[]", "BLOB"))))
    assert row == {"d": "2020-01-02", "x": "nan", "l": [1, None], "b": "00ff"}
    assert render_json(Result(pa.table({"a": pa.array([], pa.int64())}), ("BIGINT",))) == "[]\n"


def test_c1_control_characters_do_not_reach_a_terminal() -> None:
    tricky = Result(pa.table({"s": ["\x9b31m\u202e"]}), ("VARCHAR",))
    for rendered in (render_json(tricky), render_jsonl(tricky), render_markdown(tricky)):
        assert rendered.replace("\n", "").isprintable()
    assert json.loads(render_json(tricky))[0]["s"] == "\x9b31m\u202e"


def test_markdown() -> None:
    table = pa.table({"a|b": ["x|<y>"], "n": [1]})
    assert render_markdown(Result(table, ("VARCHAR", "BIGINT"), {1: (measured(1, 3.0, 0.0),)})) == (
        "| a\\|b | n | n_error | n_certified |\n| --- | ---: | ---: | --- |\n| x\\|&lt;y> | 1 | 3 | true |\n"
    )


def test_parquet() -> None:
    table = parquet.read_table(io.BytesIO(render_parquet(result())))
    assert table.column("n").to_pylist() == [33906, 8213, 12, 7654321]
    assert table.column("n_error").to_pylist() == [96.0, 131.0, 96.0, 31.4]
    assert table.column("n_certified").to_pylist() == [True, True, True, False]
    assert table.column("n_source").to_pylist() == ["measurement", "hypothesis", "hypothesis", "hypothesis"]


def test_names_made_unique() -> None:
    assert unique_names(["n", "n_2", "n", "n"]) == ["n", "n_2", "n_3", "n_4"]


def test_budget() -> None:
    assert (
        text(render_budget(BUDGET, PLAIN))
        == """\
███████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  epsilon 0.27 of 1 spent, 0.73 left

guarantee    (1, 1e-6)-differential privacy for the whole session
answered     120 queries, 113 of them free but for first looks
hard rounds  14 left: so often may the model still prove wrong

warm start   ████████████████████  0.77 of 0.77 planned
hard rounds  ██████████░░░░░░░░░░  0.1 of 0.2 planned

adult  contingencies + net; noise of a typical answer ±43 (95 %, foreseen)
pets   frequent strings + net
"""
    )
    assert max(map(len, render_budget(BUDGET, PLAIN))) <= 80
    assert budget_object(BUDGET)["purses"]["hard rounds"] == {"spent": 0.1, "planned": 0.2}
    assert budget_object(BUDGET)["tables"][1] == {"table": "pets", "strategy": "frequent strings + net", "error": None}
    alone = replace(BUDGET, questions_left=3, purses=(), tables=(), hard_rounds_left=0)
    assert "questions  3 left, each with noise of its own" in render_budget(alone, PLAIN)


@pytest.mark.parametrize(("share", "full"), [(0.0, 0), (1e-9, 1), (0.5, 4), (0.999, 7), (1.0, 8), (1.5, 8)])
def test_bar(share: float, full: int) -> None:
    assert bar(share, PLAIN, 8) == "█" * full + "░" * (8 - full)


def test_explanation() -> None:
    plans = (
        QueryPlan(
            "adult", ("sex", "age"), 148, None, 2, "hypothesis if the test passes, else a measurement", 96.2, 0.0123
        ),
        QueryPlan("pets", ("animal_name",), 1, 20, 1, "a measurement", None, 0.01),
    )
    full = Explanation(plans, "SELECT *\nFROM b1", 0.0223, 0.73, (Note("plan", "age is binned"),), 32)
    assert (
        text(render_explanation(full, PLAIN))
        == """\
table  columns      queries  cells  keys  answered from        error  costs at most
─────  ───────────  ───────  ─────  ────  ───────────────────  ─────  ─────────────
adult  sex, age           2    148        model, if it passes    ±97         0.0123
pets   animal_name        1      1    20  measurement              ?           0.01

then, over the released numbers
  SELECT *
  FROM b1

charge  at most epsilon 0.0223
left    epsilon 0.73: enough for 32 such statements at least
note    age is binned
planned from the policy and from released numbers; no row was read, nothing was charged
"""
    )


def test_explanation_of_what_is_free_or_cannot_be_paid() -> None:
    plan = QueryPlan("adult", (), 1, None, 1, "an equal question's answer", 3.0, 0.0)
    free = "charge  free, however often such a statement is asked"
    assert free in render_explanation(Explanation((plan,), None, 0.0, 0.5), PLAIN)
    for explanation in (Explanation((plan,), None, 0.6, 0.5), Explanation((plan,), None, 0.0, 0.5, (), 0)):
        assert any(line.endswith("less than it may need") for line in render_explanation(explanation, PLAIN))
    first = Explanation((replace(plan, source="hypothesis", foreseen=True),), None, 0.4, 0.5)
    lines = render_explanation(first, PLAIN)
    assert any("about ±3" in line for line in lines)
    assert "left    epsilon 0.5; once this is paid, such statements are free" in lines
    own = replace(plan, source="a measurement of its own", worst_charge=0.1)
    lines = render_explanation(Explanation((own,), None, 0.1, 0.5, (), 5), PLAIN)
    assert "charge  epsilon 0.1" in lines
    assert "left    epsilon 0.5: enough for 5 such statements at least" in lines
    assert render_explanation(Explanation((), None, 0.0, 0.5), PLAIN)[0] == "reads no private table: nothing is charged"


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (IntegerDomain("a", 17, 90), "17 to 90"),
        (CategoryDomain("a", ("Female", "Male")), "2 values: Female, Male"),
        (CategoryDomain("a", ("", "x\n")), "2 values: '', x\\n"),
        (NumberDomain("a", (0.0, 20.0, 40.0)), "0 to 40 in 2 bins of 20"),
        (NumberDomain("a", (0.0, 20.0, 100.0)), "2 bins from 0, 20; up to 100"),
        (BooleanDomain("a"), "false, true"),
        (DateDomain("a", date(2019, 1, 1), date(2020, 12, 31), "month"), "2019-01-01 to 2020-12-31, by month"),
        (TextDomain("a"), "any string: ask with =, IN or a public list"),
        (TextDomain("a", (1, 2)), "any string; prefixes of 1, 2"),
    ],
)
def test_domain(column: ColumnDomain, expected: str) -> None:
    assert domain_text(column) == expected


def test_listing() -> None:
    columns = (IntegerDomain("age", 0, 9, nullable=False), TextDomain("name"))
    tables = (TableDomain("people", columns), TableDomain("visits", columns, unit="owner", max_rows_per_unit=3))
    assert (
        text(render_tables(tables, {}, PLAIN))
        == """\
table   columns  cells  privacy unit
──────  ───────  ─────  ─────────────────────────
people        2     10  one row
visits        2     10  one owner, at most 3 rows
"""
    )
    assert (
        text(render_columns(tables[0], PLAIN))
        == """\
people: 2 columns, 10 cells; privacy unit: one row
column  kind     domain                                       null  other values
──────  ───────  ───────────────────────────────────────────  ────  ────────────
age     integer  0 to 9                                       no    not counted
name    text     any string: ask with =, IN or a public list  yes
note: people leaves out rows with a NULL or undeclared value in age
"""
    )
    assert text(render_columns(tables[1], PLAIN)).splitlines()[-2:] == [
        "note: visits counts at most 3 rows of each owner; rows without one are together a single owner",
        "note: visits leaves out rows with a NULL or undeclared value in age",
    ]


def test_text_helpers() -> None:
    assert escape("a\tb\x9b\u202e\ud800\u200b\\") == "a\\tb\\x9b\\u202e\\ud800\\u200b\\"
    assert width("e\u0301東") == 3
    assert shorten("東京東京", 5) == "東京…"
    assert [epsilon(x) for x in (1.0, 0.0123456, 0.1, 12.5, 1e-9)] == ["1", "0.0123", "0.1", "12.5", "1e-09"]


def test_an_owners_word_is_no_estimate_of_a_model() -> None:
    said = Answer(5, 5.0, (0.0, 10.0), "calibrated", "public", certified=False)
    assert bounds([said], PLAIN) == "±5 (by the owner's word; not certified)"
    assert domain_text(TextDomain("w", max_rows_per_value=1)) == (
        "any string, each in at most 1 row: ask with =, IN or a public list"
    )
    assert domain_text(TextDomain("w", (2,), max_rows_per_value=10)) == (
        "any string, each in at most 10 rows; prefixes of 2"
    )


def test_the_owners_check_says_what_other_values_count_as() -> None:
    table = TableDomain("t", (NumberDomain("a", (0.0, 9.0)), NumberDomain("b", (0.0, 9.0), outside="null")))
    lines = render_domain_check([TableCheck(table, RowTally(5, 0), {"a": 3, "b": 2})], PLAIN)
    assert lines[0] == "t: all 5 rows are counted"
    assert [line.split()[-3:] for line in lines[-2:]] == [["NaN", "as", "NULL"], ["9", "2", "NULL"]]
    assert "clipped" in render_columns(table, PLAIN)[3]
