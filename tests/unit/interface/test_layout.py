"""Text on a terminal whose width is known."""

from dataclasses import replace

import pyarrow as pa

from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.interface.render.explanation import render_explanation
from dpsql.interface.render.layout import broken, fitted, grid, pairs
from dpsql.interface.render.listing import render_columns
from dpsql.interface.render.style import PLAIN, Style, width
from dpsql.interface.render.table import render_table
from dpsql.result import Answer, Explanation, Note, QueryPlan, Result

NARROW = Style(columns=60)
TABLE = TableDomain(
    "people",
    (
        IntegerDomain("age", 0, 9, nullable=False),
        CategoryDomain("job", tuple(f"occupation {i}" for i in range(9))),
    ),
)


def test_domains_are_cut_to_the_width_that_there_is() -> None:
    listed = render_columns(TABLE, NARROW)
    assert max(map(width, listed)) <= 60 and any("…" in line for line in listed)
    assert max(map(width, render_columns(TABLE, PLAIN))) > 60


def test_notes_are_broken_between_words() -> None:
    assert render_columns(TABLE, NARROW)[-2:] == [
        "note: people leaves out rows with a NULL or undeclared value",
        "  in age",
    ]
    noted = Result(pa.table({"a": [1]}), ("INTEGER",), notes=(Note("cap", "many words, " * 6),))
    assert render_table(noted, NARROW)[-2].startswith("note: many words, many") and width(noted.notes[0].text) > 60
    assert max(map(width, render_table(noted, NARROW))) <= 60
    assert max(map(width, render_table(noted, PLAIN))) > 60


def test_what_stands_beside_a_name_goes_on_below_itself() -> None:
    lines = pairs([("\\explain SQL", "show what a statement would ask and cost at most; free"), ("x", "")], NARROW)
    assert lines == [
        "\\explain SQL  show what a statement would ask and cost at",
        "              most; free",
        "x             ",
    ]


def test_colours_and_terminals_too_narrow_for_words_are_left_alone() -> None:
    text = "\x1b[1ma few words\x1b[0m " * 9
    assert broken([text], NARROW) == [text]
    assert broken(["a few words " * 9], replace(NARROW, columns=12)) == ["a few words " * 9]


def test_a_plan_fits_a_terminal() -> None:
    plan = Explanation((), None, 0.0, 1.0, (Note("cap", "many words, " * 9),))
    assert max(map(width, render_explanation(plan, PLAIN))) > 60
    assert max(map(width, render_explanation(plan, NARROW))) <= 60


def test_a_table_that_is_wider_than_its_terminal_breaks_no_number() -> None:
    rows = [("Female", "  4,514 ± 1,042"), ("Male", " 10,123 ± 1,042")]
    whole = grid(("sex", "count"), rows, ("left", "left"), PLAIN)
    size = max(map(width, whole))
    for style in (PLAIN, Style(terminal=True, columns=size)):  # a file; a terminal just as wide
        assert fitted(("sex", "count"), rows, ("left", "left"), style) == whole
    assert fitted(("sex", "count"), rows, ("left", "left"), Style(terminal=True, columns=size - 1)) == [
        "── record 1 ──",
        "sex    Female",
        "count  4,514 ± 1,042",
        "── record 2 ──",
        "sex    Male",
        "count  10,123 ± 1,042",
    ]
    narrow = Style(terminal=True, columns=10)
    assert fitted(("sex",), [("a" * 20,)], ("left",), narrow) == grid(("sex",), [("a" * 20,)], ("left",), narrow)
    assert fitted(("sex", "n" * 20), [], ("left", "left"), narrow)[0].startswith("sex")


def test_results_and_plans_are_fitted() -> None:
    """Where a table has no room, no line is broken by the terminal itself."""
    answer = Answer(4514, 1042.0, (3472.0, 5556.0), "exact", "measurement", certified=True)
    names = {f"number_{i}": pa.array([4514]) for i in range(6)}
    result = Result(pa.table(names), ("BIGINT",) * 6, dict.fromkeys(range(6), (answer,)))
    plan = QueryPlan("people", ("age", "job"), 1234, None, 5678, "hypothesis", 12.0, 0.01)
    for lines in (
        render_table(result, NARROW),
        render_explanation(Explanation((plan,), None, 0.01, 0.75), NARROW),
    ):
        assert any("record 1" in line for line in lines)
        assert max(map(width, lines)) <= NARROW.columns
    assert "number_5  4,514 ± 1,042" in render_table(result, NARROW)
