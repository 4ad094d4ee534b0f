"""-p name=value."""

import pytest
from click import UsageError

from dpsql import DataError
from dpsql.interface.cli.parameters import Scalar, chosen, parse_parameters, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30", 30),
        ("-7", -7),
        ("0", 0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("Male", "Male"),
        ("", ""),
        ("'30'", "30"),
        ("'it''s'", "it's"),
        ("02134", "02134"),
        ("nan", "nan"),
        ("1_000", "1_000"),
        ("９", "９"),
        ("9" * 30, float("9" * 30)),
    ],
)
def test_value(text: str, value: Scalar) -> None:
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("items", [["low"], ["=1"], ["2x=1"], ["a b=1"], ["low=1", "low=2"]])
def test_refused(items: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_parameters(items)
    assert "name" in caught.value.message


def test_a_value_may_hold_the_sign() -> None:
    assert parse_parameters(["a=b=c", "n=1"]) == {"a": "b=c", "n": 1}


def test_a_statement_gets_the_parameters_it_names() -> None:
    values: dict[str, Scalar] = {"low": 1, "high": 2}
    assert chosen(values, {"low"}) == {"low": 1}
    assert chosen(values, set()) is None
    assert chosen(values, {"1"}) is None
    with pytest.raises(DataError, match="no value for \\$other"):
        chosen(values, {"other"})
