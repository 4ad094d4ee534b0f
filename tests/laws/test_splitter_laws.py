"""Whatever a text holds, splitting loses no statement and never cuts through one."""

from hypothesis import given
from hypothesis import strategies as st

from dpsql.interface.splitter import split

STATEMENTS = st.sampled_from(
    [
        "SELECT 1",
        "SELECT ';'",
        "SELECT 'it''s; here'",
        'SELECT ";"',
        "SELECT $$;$$",
        "SELECT $a$;$$;$a$",
        "SELECT 1 -- ;\n + 1",
        "SELECT /* ; /* ; */ ; */ 1",
        "SELECT E'\\';'",
        "SELECT $p",
    ]
)
GAPS = st.sampled_from([";", " ; ", ";\n", ";-- a comment;\n", "; /* a; comment */", ";;"])


@given(st.lists(st.tuples(STATEMENTS, GAPS), max_size=6))
def test_joined_statements_come_apart_again(parts: list[tuple[str, str]]) -> None:
    text = "".join(statement + gap for statement, gap in parts)
    pieces = split(text)
    assert [p.text for p in pieces] == [statement for statement, _ in parts]
    lines = text.split("\n")
    assert all(lines[p.line - 1][p.column - 1 :].startswith("SELECT") for p in pieces)


@given(st.text(alphabet="';\"$ab/*-\\\nE 1", max_size=40))
def test_any_text_is_split_and_pieces_split_no_further(text: str) -> None:
    pieces = split(text)
    assert all(p.text.strip() for p in pieces)
    assert all(p.ended for p in pieces[:-1])
    for piece in pieces:
        if piece.open is None:
            assert [p.text for p in split(piece.text)] == [piece.text]
