"""Columns by the classes that a statement tells apart: the same counts as by all values, without their grid."""

from collections.abc import Iterator

import pytest

from dpsql.errors import UnsupportedQuery
from dpsql.sql import FrontEnd
from dpsql.sql.counting import alternatives, cluster_pieces, evaluate
from dpsql.sql.counting.values import classes as value_classes
from dpsql.sql.statement import Block
from tests.support.contingency import TWIN, Counted, random_rows, seeded
from tests.support.exact import front_end
from tests.support.predicates import atom

ROWS = 400


@pytest.fixture(scope="module")
def twins() -> Counted:
    return Counted(TWIN, random_rows(7, ROWS))


@pytest.fixture
def boxed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Every grid of more than six cells is too large where classes do; how many boxes were written."""
    found: list[int] = []

    def noted(*given: object) -> object:
        pieces = box_pieces(*given)  # type: ignore[arg-type]
        found.append(len(pieces))
        return pieces

    box_pieces = cluster_pieces.box_pieces
    monkeypatch.setattr(value_classes, "MAX_CELLS", 6)
    monkeypatch.setattr(cluster_pieces, "box_pieces", noted)
    yield found


def block_of(text: str) -> Block:
    (block,) = front_end().lower(text).blocks
    return block


def exact(twins: Counted, block: Block, aggregate: int = 0) -> dict[object, float]:
    """The numerator's true value for each group."""
    forms = block.aggregates[aggregate].numerator
    return {g[0] if g else None: twins.exact(f) for g, f in zip(block.groups, forms, strict=True)}


def condition(seed: int) -> str:
    rng = seeded(seed)
    a, b, c, d = (atom(rng, text=True) for _ in range(4))
    shapes = ["({} OR {}) AND ({} OR {})", "{} OR ({} AND NOT ({} AND {}))", "CASE WHEN {} THEN {} ELSE {} OR {} END"]
    return shapes[seed % 3].format(a, b, c, d)


@pytest.mark.parametrize("seed", range(60))
def test_conditions_count_what_duckdb_counts(boxed: list[int], twins: Counted, seed: int) -> None:
    where = condition(seed)
    ((truth,),) = twins.connection.execute(f"SELECT COUNT(*) FROM twins WHERE {where}").fetchall()
    assert exact(twins, block_of(f"SELECT COUNT(*) FROM twins WHERE {where}")) == {None: pytest.approx(truth)}


@pytest.mark.parametrize("seed", range(40))
def test_groups_and_sums_are_those_of_duckdb(boxed: list[int], twins: Counted, seed: int) -> None:
    rng = seeded(seed)
    a, b = atom(rng, text=True), atom(rng, text=True)
    key = f"CASE WHEN {a} THEN 'a' WHEN {b} THEN 'b' WHEN age > 30 THEN NULL ELSE 'c' END"
    value = f"CASE WHEN {b} THEN 2 WHEN {a} THEN -5 WHEN age < 20 THEN 0 END"
    text = f"SELECT {key} AS k, COUNT(*), SUM({value}) FROM twins WHERE {condition(seed)} GROUP BY k"
    block = block_of(text)
    true = {k: (n, total or 0) for k, n, total in twins.connection.execute(text).fetchall()}
    counted, summed = exact(twins, block), exact(twins, block, 1)
    for key_value in counted:
        number, total = true.pop(key_value, (0, 0))
        assert counted[key_value] == pytest.approx(number) and summed[key_value] == pytest.approx(total, abs=1e-4)
    assert not true


@pytest.mark.parametrize("seed", range(40))
def test_parts_of_a_disjunction_are_taken_by_classes_too(
    monkeypatch: pytest.MonkeyPatch, boxed: list[int], twins: Counted, seed: int
) -> None:
    """A part that ties columns together in a grid of its own, beside parts that share none with it."""
    monkeypatch.setattr(alternatives, "MAX_CELLS", 6)
    monkeypatch.setattr(evaluate, "MAX_CELLS", 24)
    rng = seeded(seed)
    alone = rng.choice(["sex = 'Male'", "NOT sex = 'Female'", "sex IS NULL", "sex IN ('Male', 'Other')"])
    low, most, longer = rng.randint(17, 30), rng.randint(20, 45), rng.randint(1, 60)
    shapes = [
        f"((age > {low} AND hours < {longer}) OR age = {most}) OR {alone}",
        f"{alone} OR NOT ((age BETWEEN {low} AND {most} OR NOT hours > {longer}) AND hours <> 40)",
        f"NOT (NOT {alone} AND (age IS NULL OR NOT (age <= {most} AND hours BETWEEN 5 AND {longer})))",
    ]
    where = shapes[seed % 3]
    ((truth,),) = twins.connection.execute(f"SELECT COUNT(*) FROM twins WHERE {where}").fetchall()
    assert exact(twins, block_of(f"SELECT COUNT(*) FROM twins WHERE {where}")) == {None: pytest.approx(truth)}


def test_the_classes_are_used(boxed: list[int]) -> None:
    for seed in range(12):
        block_of(f"SELECT COUNT(*) FROM twins WHERE {condition(seed)}")
    assert len(boxed) > 4 and max(boxed) > 1


def test_each_box_is_a_product_of_single_columns(boxed: list[int]) -> None:
    block = block_of(
        "SELECT CASE WHEN age > 20 THEN 'a' WHEN sex = 'Male' THEN 'b' END AS k, COUNT(*) FROM twins GROUP BY k"
    )
    terms = [t for f in block.aggregates[0].numerator for t in f.terms]
    assert boxed and all(len(f.columns) == 1 for t in terms for f in t.query.factors)
    assert len(block.aggregates[0].numerator[0].terms) == 1


def test_what_is_told_by_value_keeps_its_grid(monkeypatch: pytest.MonkeyPatch, boxed: list[int]) -> None:
    """Both columns are compared as they are: there are no classes, and the grid decides as before."""
    block_of("SELECT COUNT(*) FROM twins WHERE age > hours")
    assert not boxed
    monkeypatch.setattr(evaluate, "MAX_CELLS", 6)
    with pytest.raises(UnsupportedQuery, match="tied together"):
        block_of("SELECT COUNT(*) FROM twins WHERE age > hours")


def test_the_front_end_keeps_classes_of_statements_apart(boxed: list[int], twins: Counted) -> None:
    """One expression under two sets of classes: what was remembered of one is not taken for the other."""
    front: FrontEnd = front_end()
    for cut in (20, 25, 30):
        where = f"(age > {cut} OR sex = 'Male') AND (sex = 'Female' OR age < 40)"
        (block,) = front.lower(f"SELECT COUNT(*) FROM twins WHERE {where}").blocks
        ((truth,),) = twins.connection.execute(f"SELECT COUNT(*) FROM twins WHERE {where}").fetchall()
        assert twins.exact(block.aggregates[0].numerator[0]) == pytest.approx(truth)
