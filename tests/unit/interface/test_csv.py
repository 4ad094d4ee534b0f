"""Rows as CSV, read back by readers of others."""

import csv
import io

import pyarrow as pa
from pyarrow import csv as arrow_csv

from dpsql.interface.render.structured import render_csv
from dpsql.result import Result


def test_null_is_told_from_the_empty_string_and_what_ends_lines_is_quoted() -> None:
    texts = ["", None, "a\rb", 'say "no", or\n', "plain"]
    written = render_csv(Result(pa.table({"x,y": texts, "z": texts[::-1]}), ("VARCHAR", "VARCHAR")))
    assert written.splitlines(keepends=True)[:3] == ['"x,y",z\n', '"",plain\n', ',"say ""no"", or\n']
    table = arrow_csv.read_csv(
        io.BytesIO(written.encode()),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False),
    )
    assert table.column("x,y").to_pylist() == texts
    assert [row[0] for row in csv.reader(io.StringIO(written, newline=""))][1:] == [t or "" for t in texts]


def test_a_row_of_one_null_is_no_empty_line() -> None:
    assert render_csv(Result(pa.table({"z": [None, "a"]}), ("VARCHAR",))) == 'z\n""\na\n'
    assert render_csv(Result(pa.table({"": ["", "a"]}), ("VARCHAR",))) == '""\n""\na\n'
