"""What an analyst may ask beside a statement's text."""

import pytest

from dpsql.errors import ProgrammingError
from dpsql.result import Terms


@pytest.mark.parametrize("number", [pytest.param(10**400, id="huge"), -1, 0.5, float("nan"), float("inf"), True, "25"])
@pytest.mark.parametrize("of", ["within", "max_charge"])
def test_what_is_no_number_is_refused(number: object, of: str) -> None:
    if (of, number) == ("max_charge", 0.5):
        return
    with pytest.raises(ProgrammingError, match=of):
        Terms(**{of: number})  # type: ignore[arg-type]
