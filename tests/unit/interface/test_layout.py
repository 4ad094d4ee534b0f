"""Text on a terminal whose width is known."""

from dataclasses import replace

import pyarrow as pa

from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.interface.render.explanation import render_explanation
from dpsql.interface.render.layout import broken, pairs
from dpsql.interface.render.listing import render_columns
from dpsql.interface.render.style import PLAIN, Style, width
from dpsql.interface.render.table import render_table
from dpsql.result import Explanation, Note, Result

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
