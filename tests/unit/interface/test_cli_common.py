"""What several commands of the program have in common."""

from pathlib import Path

import pytest
from click import UsageError

from dpsql.interface.cli.common import format_of


@pytest.mark.parametrize("name", ["result.xlsx", "result.csv.gz", "out.TSV"])
def test_an_ending_that_names_no_format_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"--format, or a name that ends in \.csv, \.json, \.jsonl, \.parquet, \.md"):
        format_of(None, Path(name))
    assert format_of("csv", Path(name)) == "csv"


@pytest.mark.parametrize("name", ["out", "out.txt", "/dev/stdout", ".hidden"])
def test_text_and_names_without_an_ending_are_tables(name: str) -> None:
    assert format_of(None, Path(name)) == "table"
