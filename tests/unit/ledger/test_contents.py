"""Digests that are remembered by a file's state: private to their owner, lost without harm."""

import stat
from pathlib import Path

import pytest

from dpsql.ledger import Contents


def test_tables_of_one_state_are_kept_beside_each_other_and_others_dropped(tmp_path: Path) -> None:
    contents = Contents(tmp_path)
    contents.keep("/a", "1", "t", "x")
    contents.keep("/a", "1", "u", "y")
    contents.keep("/b", "1", "t", "z")
    assert [contents.get("/a", "1", "t"), contents.get("/a", "1", "u"), contents.get("/b", "1", "t")] == ["x", "y", "z"]
    contents.keep("/a", "2", "t", "w")
    assert [contents.get("/a", "1", "t"), contents.get("/a", "2", "t"), contents.get("/a", "2", "u")] == [
        None,
        "w",
        None,
    ]


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    Contents(tmp_path / "new").keep("/a", "1", "t", "x")
    (file,) = (tmp_path / "new" / "contents").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_what_is_not_trusted_is_not_read_but_written(tmp_path: Path) -> None:
    contents = Contents(tmp_path)
    contents.keep("/a", "1", "t", "stale")
    doubting = Contents(tmp_path, trusted=False)
    assert doubting.get("/a", "1", "t") is None
    doubting.keep("/a", "1", "t", "fresh")
    assert contents.get("/a", "1", "t") == "fresh"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": "1"}', '{"version": "9", "path": "/a", "state": "1"}'])
def test_a_damaged_file_remembers_nothing(tmp_path: Path, text: str) -> None:
    contents = Contents(tmp_path)
    contents.keep("/a", "1", "t", "x")
    (file,) = (tmp_path / "contents").iterdir()
    file.write_text(text)
    assert contents.get("/a", "1", "t") is None
    contents.keep("/a", "1", "t", "x")
    assert contents.get("/a", "1", "t") == "x"


def test_where_nothing_can_be_written_nothing_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "contents").write_text("a file where the folder should be")
    contents = Contents(tmp_path)
    contents.keep("/a", "1", "t", "x")
    assert contents.get("/a", "1", "t") is None
