"""Every method refuses what it cannot be told, and says what it can."""

import pytest

from dpsql.errors import DataError
from dpsql.synthesis.methods import METHODS, check_options


@pytest.mark.parametrize("method", METHODS)
def test_an_option_that_a_method_does_not_have_is_refused_with_those_that_it_has(method: str) -> None:
    known = METHODS[method].options
    check_options(method, dict.fromkeys(known, "1"))
    with pytest.raises(DataError, match=f"{method} has no option") as refused:
        check_options(method, {**dict.fromkeys(known, "1"), "nonsense": "1"})
    assert all(name in refused.value.hint for name in known) and refused.value.hint
