"""The drawing of a budget on a narrow terminal."""

import pytest

from dpsql.interface.render.budget import render_budget
from dpsql.interface.render.style import PLAIN, Style, width
from dpsql.result import Budget

BUDGET = Budget(1.0, 1e-6, 0.627, 0.373, 6, 9, 9, (("spare releases", 0.000259, 0.311), ("row counts", 0.05, 0.05)))


@pytest.mark.parametrize("columns", [60, 70, 100])
def test_bars_leave_room_for_their_words(columns: int) -> None:
    lines = render_budget(BUDGET, Style(columns=columns))
    assert all(width(line) <= columns for line in lines)
    drawn = [line for line in lines if "█" in line]
    assert len(drawn) == 3 and all("spent" in line or "planned" in line for line in drawn)
    assert drawn == [line for line in render_budget(BUDGET, PLAIN) if "█" in line] or columns < 100
