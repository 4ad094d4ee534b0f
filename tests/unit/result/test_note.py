"""Notes on the rows that no number of a table speaks of."""

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.result import Note, table_notes


def test_a_table_that_counts_every_row_needs_no_note() -> None:
    assert table_notes(TableDomain("t", (BooleanDomain("b"), CategoryDomain("c", ("x",))))) == ()


def test_a_cap_and_rows_without_a_unit_are_one_sentence() -> None:
    one = TableDomain("visits", (BooleanDomain("b"),), "customer_id", 1)
    assert table_notes(one) == (
        Note(
            "cap",
            "visits counts at most 1 row of each customer_id; rows without one are together a single customer_id",
        ),
    )


def test_rows_that_are_left_out_are_named_by_their_columns() -> None:
    required = (IntegerDomain("age", 0, 9, nullable=False), TextDomain("name", nullable=False))
    (note,) = table_notes(TableDomain("t", required))
    assert note == Note("left out", "t leaves out rows with a NULL or undeclared value in age or name")
    (bare,) = table_notes(TableDomain("t", (*required[1:], BooleanDomain("b", nullable=False), BooleanDomain("c"))))
    assert bare.text == "t leaves out rows with a NULL in name or b"
    (many,) = table_notes(TableDomain("t", tuple(BooleanDomain(f"b{i}", nullable=False) for i in range(4))))
    assert many.text == "t leaves out rows with a NULL in any of 4 columns"
