"""Keys are strings; whatever else a database holds has none."""

from dpsql.engine.duckdb.text_index import as_key


def test_what_is_no_utf8_has_no_key() -> None:
    assert as_key("Žába".encode()) == "Žába"
    assert as_key(b"\xff") is None and as_key(b"\xed\xa0\x80") is None and as_key(None) is None
