"""What is written wrongly is refused with what could be written."""

import pytest

from dpsql.errors import DataError
from dpsql.synthesis.offline.options import whole, word


def test_words() -> None:
    with pytest.raises(DataError) as refused:
        word({"iterate": "first"}, "iterate", ("last", "average"))
    assert refused.value.hint == "write iterate=last|average"


@pytest.mark.parametrize("said", ["", "0", "-1", "1.5", "1e3", "11", "²", "9" * 5000])
def test_numbers_out_of_range(said: str) -> None:
    assert whole({"n": "10"}, "n", 3, 1, 10) == 10
    assert whole({}, "n", 3, 1, 10) == 3
    with pytest.raises(DataError, match="option n"):
        whole({"n": said}, "n", 3, 1, 10)
