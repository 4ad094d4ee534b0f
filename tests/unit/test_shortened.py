"""Texts as messages show them."""

import pytest

from dpsql.shortened import shortened


@pytest.mark.parametrize(("text", "shown"), [("", ""), ("12345", "12345"), ("123456", "12..."), ("1" * 99, "11...")])
def test_what_is_longer_is_cut_to_fit(text: str, shown: str) -> None:
    assert shortened(text, 5) == shown
