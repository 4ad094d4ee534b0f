"""Tables that a draft proposes as public: those that say what codes mean, and no table that may speak of people."""

import pytest

from dpsql.policy_file import (
    ColumnSchema,
    RowsEach,
    TableSchema,
    draft_policy,
    may_describe,
    parse_policy,
    proposed_public,
)

DISTINCT = RowsEach(6, 6, 1, 1)
TRIPS = TableSchema("trips", (ColumnSchema("zone", "INTEGER", low=1, high=6), ColumnSchema("fare", "DOUBLE")), 600)


def zones(*others: ColumnSchema, name: str = "zones", rows: int = 6, key: str = "zone") -> TableSchema:
    columns = (ColumnSchema(key, "INTEGER", low=1, high=6, rows_each=DISTINCT), *others)
    return TableSchema(name, columns, rows, ("trips.zone",))


def private_and_public(*tables: TableSchema) -> tuple[list[str], tuple[str, ...]]:
    policy = parse_policy(draft_policy(tables))
    return [t.name for t in policy.tables], policy.public_tables


def test_a_small_table_of_codes_is_proposed_as_public_and_to_be_checked() -> None:
    assert private_and_public(TRIPS, zones(ColumnSchema("borough", "VARCHAR"))) == (["trips"], ("zones",))
    text = draft_policy([TRIPS, zones()])
    assert "# CHECK: every row of these is shown" in text and '# "zones": "trips.zone"' in text


@pytest.mark.parametrize("column", ["patient_id", "customer", "birth_date", "gender", "salaryBand_salary", "email"])
def test_never_one_with_a_column_of_people(column: str) -> None:
    assert private_and_public(TRIPS, zones(ColumnSchema(column, "VARCHAR"))) == (["trips", "zones"], ())


@pytest.mark.parametrize("name", ["patients", "customer_segments", "students", "StaffMembers", "people", "employees"])
def test_never_one_that_is_named_after_people(name: str) -> None:
    assert private_and_public(TRIPS, zones(name=name)) == (["trips", name], ())
    assert may_describe(zones(name=name), TRIPS) == ()


def test_never_without_a_look_at_the_rows() -> None:
    unseen = TableSchema("zones", (ColumnSchema("zone", "INTEGER", is_key=True),))
    assert private_and_public(TableSchema("trips", TRIPS.columns), unseen) == (["trips", "zones"], ())


def test_what_may_describe_what() -> None:
    assert may_describe(zones(), TRIPS) == (("zone", "zone"),)
    assert may_describe(zones(rows=60), TRIPS) == ()  # a value is missing in the key
    assert may_describe(zones(), TRIPS._replace(rows=59)) == ()
    assert may_describe(zones(), TRIPS._replace(rows=60)) == (("zone", "zone"),)
    assert may_describe(TRIPS, zones()) == ()
    repeated = zones()._replace(columns=(ColumnSchema("zone", "INTEGER", rows_each=RowsEach(6, 5, 1, 2)),))
    assert may_describe(repeated, TRIPS) == ()
    by_id = TableSchema("trips", (ColumnSchema("zone_id", "INTEGER"), ColumnSchema("id", "INTEGER")), 600)
    assert may_describe(zones(key="id"), by_id) == (("id", "zone_id"),)


def test_names_cannot_break_out_of_a_comment() -> None:
    evil, breaking = 'z"] # "', "t\n[privacy]\nepsilon = 9"
    policy = parse_policy(draft_policy([TRIPS, zones(name=evil)._replace(describes=(f"{breaking}.zone",))]))
    assert policy.public_tables == (evil,) and policy.privacy.epsilon == 1
    assert proposed_public([TRIPS, zones(name="z\n")]) == {}
