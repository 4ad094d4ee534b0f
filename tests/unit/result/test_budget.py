"""What a session says of its budget in one line."""

from dpsql.result import Budget, Purse


def test_a_budget_is_printed_as_a_sentence() -> None:
    budget = Budget(2.0, 1e-6, 1.25, 0.75, 3, 1021, 1019)
    assert str(budget) == "epsilon 1.25 of 2 spent, 0.75 left; 1,019 of 1,021 answers free but for first looks"


def test_a_purse_has_names_and_is_unpacked_as_before() -> None:
    purse = Purse("row counts", 0.1, 0.2)
    name, spent, planned = purse
    assert (name, spent, planned) == (purse.name, purse.spent, purse.planned) == ("row counts", 0.1, 0.2)
