"""What the plan of a statement says of its charge: what is surely paid, and what only a wrong model costs."""

import pytest

from dpsql.interface.render.explanation import SHORT, render_explanation
from dpsql.interface.render.style import PLAIN
from dpsql.result import Explanation, QueryPlan, sources

TESTED, FREE = (sources.TESTED, 0.011), (sources.KNOWN, 0.0)


def charge(total: float, *plans: tuple[str, float]) -> str:
    shown = tuple(QueryPlan("adult", ("sex",), 2, None, 1, source, 3.0, worst) for source, worst in plans)
    lines = render_explanation(Explanation(shown, None, total, 1.0, (), 2), PLAIN)
    (line,) = [line for line in lines if line.startswith("charge")]
    return line.removeprefix("charge  ")


@pytest.mark.parametrize(
    ("total", "plans", "said"),
    [
        (0.011, [TESTED], "at most epsilon 0.011, nothing where the model is right"),
        (0.022, [TESTED, FREE, TESTED], "at most epsilon 0.022, nothing where the model is right"),
        (
            0.637,
            [TESTED],
            "at most epsilon 0.637: 0.626 for what is measured first, the rest only where the model is wrong",
        ),
        (0.011, [(sources.SPARE, 0.011)], "at most epsilon 0.011"),
        (0.022, [TESTED, (sources.SPARE, 0.011)], "at most epsilon 0.022"),
        (0.637, [TESTED, (sources.SPARE, 0.011)], "at most epsilon 0.637: 0.615 for what is measured first"),
        (0.011, [(sources.MODEL, 0.011)], "at most epsilon 0.011"),
        (0.011, [(sources.FIRST_TOUCH, 0.011)], "at most epsilon 0.011"),
        (0.626, [FREE], "at most epsilon 0.626: 0.626 for what is measured first"),
        (0.011, [(sources.OWN, 0.011), FREE], "epsilon 0.011"),
        (0.111, [(sources.OWN, 0.011)], "epsilon 0.111: 0.1 for what is measured first"),
        (0.022, [(sources.OWN, 0.011), TESTED], "at most epsilon 0.022"),
        (0.011, [TESTED, TESTED], "at most epsilon 0.011"),
        (0.5, [], "at most epsilon 0.5"),
    ],
)
def test_nothing_is_said_to_be_spared_that_is_surely_paid(
    total: float, plans: list[tuple[str, float]], said: str
) -> None:
    assert charge(total, *plans) == said


def test_sums_of_many_charges_are_their_total() -> None:
    assert "nothing where" in charge(0.3, (sources.TESTED, 0.1), (sources.TESTED, 0.1), (sources.TESTED, 0.1))


def test_each_source_has_a_short_form() -> None:
    assert set(SHORT) == set(sources.SOURCES)
    assert max(map(len, SHORT.values())) <= 19
