"""Which column a draft takes for the unit, by names alone and once rows were looked at."""

import pytest

from dpsql.policy_file import ColumnSchema, RowsEach, TableSchema, draft_policy, parse_policy
from dpsql.policy_file.units import declared_unit, left_out, unit_lines

ONCE = RowsEach(1000, 1000, 1, 1)
OFTEN = RowsEach(1000, 300, 6, 14)


def column(name: str, each: RowsEach | None = None, *, kind: str = "BIGINT", is_key: bool = False) -> ColumnSchema:
    return ColumnSchema(name, kind, rows_each=each, is_key=is_key)


def table(*columns: ColumnSchema, name: str = "orders") -> TableSchema:
    return TableSchema(name, columns)


@pytest.mark.parametrize(
    ("names", "suggested"),
    [
        (["order_id", "customer_id"], "customer_id"),
        (["order_id", "product_id"], "product_id"),
        (["id", "store_id"], "store_id"),
        (["orderId", "shopId", "userId"], "userId"),
        (["order_id"], "order_id"),
        (["id"], "id"),
        (["paid", "valid", "grid"], "owner_id"),
        (["patient", "visit_id"], "patient"),
        (["user_agent", "session_id"], "session_id"),
        (["day"], "owner_id"),
    ],
)
def test_by_names_alone_people_come_first_and_the_row_s_own_number_last(names: list[str], suggested: str) -> None:
    lines = unit_lines(table(*map(column, names)))
    assert f'# unit = "{suggested}"' in lines
    assert declared_unit(table(*map(column, names))) is None and left_out(table(*map(column, names))) == {}


@pytest.mark.parametrize("kind", ["BOOLEAN", "BIGINT[]", "DATE", "DOUBLE", "STRUCT(a INTEGER)"])
def test_types_that_tell_nobody_apart(kind: str) -> None:
    assert '# unit = "owner_id"' in unit_lines(table(column("customer_id", kind=kind)))


def test_a_key_is_never_suggested() -> None:
    found = table(column("customer_id", is_key=True), column("order_id"))
    assert '# unit = "order_id"' in unit_lines(found)
    assert left_out(found) == {"customer_id": "different in every row: nothing to count"}


def test_of_people_that_repeat_those_with_most_values_are_declared() -> None:
    staff = column("employee_id", RowsEach(1000, 7, 200, 300))
    found = table(column("order_id", ONCE), column("store_id", OFTEN), staff, column("customer_id", OFTEN))
    unit = declared_unit(found)
    assert unit is not None and unit.name == "customer_id"
    lines = unit_lines(found)
    assert lines[1] == 'unit = "customer_id"' and lines[2].startswith("max_rows_per_unit = 10 ")
    assert set(left_out(found)) == {"order_id", "customer_id"}


def test_what_repeats_without_naming_people_is_told_and_not_declared() -> None:
    found = table(column("order_id", ONCE), column("store_id", OFTEN))
    lines = unit_lines(found)
    assert declared_unit(found) is None and '# unit = "store_id"' in lines
    assert any(
        '"store_id" has up to 500 values in about 1,000 rows' in line and "FROM THE DATA" in line for line in lines
    )


@pytest.mark.parametrize(
    ("name", "each", "is_unit"),
    [
        ("household", RowsEach(300_000, 9, 105_000, 105_000), False),
        ("child", RowsEach(300_000, 2, 200_000, 200_000), False),
        ("driver_id", RowsEach(300_000, 9, 105_000, 105_000), True),
        ("driver", RowsEach(3_000, 9, 400, 500), True),
        ("household", RowsEach(300_000, 20, 40_000, 50_000), True),
    ],
)
def test_a_few_values_of_very_many_rows_are_sizes_or_kinds(name: str, each: RowsEach, is_unit: bool) -> None:
    """A survey's ``household`` is how many live in it: as a unit all noise would grow a hundred thousand times."""
    found = table(column(name, each, kind="TINYINT"), column("age"))
    assert (declared_unit(found) is not None) == is_unit == (name in left_out(found))
    assert f'# unit = "{name}"' in unit_lines(found) or is_unit


def test_people_that_do_not_repeat_are_one_row_each() -> None:
    found = table(column("person_id", ONCE))
    assert declared_unit(found) is None and "one row per person" in unit_lines(found)[0]


@pytest.mark.parametrize("columns", [(column("customer_id", OFTEN),), (column("customer_id", is_key=True),)])
def test_a_table_of_nothing_else_keeps_its_column(columns: tuple[ColumnSchema, ...]) -> None:
    (found,) = parse_policy(draft_policy([table(*columns)])).tables
    assert [c.name for c in found.columns] == ["customer_id"]


def test_a_table_that_cannot_be_declared_is_commented_whole() -> None:
    text = draft_policy([table(ColumnSchema("x", "BLOB"), name="blobs"), table(column("a"))])
    assert [t.name for t in parse_policy(text).tables] == ["orders"]
    looked = [table(ColumnSchema("x", "BLOB"), name="blobs"), table(column("a"), column("customer_id", OFTEN))]
    (found,) = parse_policy(draft_policy(looked)).tables
    assert (found.unit, found.max_rows_per_unit) == ("customer_id", 10)
