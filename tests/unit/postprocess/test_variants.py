"""Released numbers moved within their bars, and rows found again."""

import numpy as np
import pyarrow as pa
import pytest

from dpsql.postprocess.matching import matched
from dpsql.postprocess.variants import ReleasedColumn, at_corners, drawn, standard_draws, variants_table
from dpsql.result import EXACT_ZERO, Answer


def measured(value: int, error: float) -> Answer:
    low, high = max(0.0, value - error), max(0.0, value + error)
    return Answer(value, error, (low, high), "exact", "measurement", certified=True)


COLUMN = ReleasedColumn(
    (measured(100, 19.6), measured(5, 9.8), EXACT_ZERO, Answer(None, None, None, "exact", "public", False)),
    ("a", "b", "c", "d"),
    integer=True,
    queries=(None,) * 4,
    bounds=(False,) * 4,
)


def test_corners_are_the_ends_of_intervals() -> None:
    low, same, high = at_corners(COLUMN, (-1, 0, 1))
    assert low[:3].tolist() == [80, 0, 0]  # rounded outwards, counts not below 0
    assert same[:3].tolist() == [100, 5, 0]
    assert high[:3].tolist() == [120, 15, 0]
    assert all(np.isnan(v[3]) for v in (low, same, high))


def test_draws_have_the_width_of_the_bar() -> None:
    noise = np.array([[1.0, -2.0, 3.0, 1.0]])
    assert drawn(COLUMN, noise, positive=False)[0, :3].tolist() == pytest.approx([110, -5, 0])
    assert drawn(COLUMN, noise, positive=True)[0, :3].tolist() == pytest.approx([110, 1, 0])


@pytest.mark.parametrize("numbers", [1, 5, 64, 65, 300])
def test_standard_draws(numbers: int) -> None:
    z = standard_draws(128, numbers, 7)
    assert z.shape == (128, numbers)
    assert np.allclose(z.sum(axis=0), 0)
    assert np.allclose((z**2).mean(axis=0), 1)
    gram = z.T @ z / 128
    if numbers <= 64:
        assert np.allclose(gram, np.eye(numbers))
    assert np.array_equal(z, standard_draws(128, numbers, 7))
    assert not np.array_equal(z, standard_draws(128, numbers, 8))


def test_a_table_of_variants() -> None:
    base = pa.table({"_row": [0, 1], "g0": ["x", None], "a0": [7, 8], "a1": [0.5, None]})
    values = {"a0": np.array([[7.0, 8.0], [1.4, 2.6]]), "a1": np.array([[0.5, np.nan], [0.25, np.nan]])}
    table = variants_table(base, "_draw", values)
    assert table.to_pydict() == {
        "_draw": [0, 0, 1, 1],
        "_row": [0, 1, 0, 1],
        "g0": ["x", None, "x", None],
        "a0": [7, 8, 1, 3],
        "a1": [0.5, None, 0.25, None],
    }


def test_rows_are_found_by_all_their_keys() -> None:
    base = pa.table({"a": ["x", "x", None], "b": [1, 2, 1]})
    variants = pa.table({"a": ["x", None, "x", "y", None], "b": [2, 1, 1, 1, 2]})
    found = matched(base, variants)
    assert found is not None
    assert found.tolist() == [1, 2, 0, -1, -1]
    assert matched(base.select(["a"]), variants.select(["a"])) is None
    one = pa.table({"n": [1]})
    assert matched(one.select([]), variants.select([])).tolist() == [0] * 5  # type: ignore[union-attr]
