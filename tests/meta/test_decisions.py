"""Each decision says whether it still holds, and two that are related say so on both pages."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
PAGES = sorted(p for p in FOLDER.glob("*.md") if p.name != "README.md")

_TITLE = re.compile(r"# (\d{4}) (.+)\n\n")
_STATUS = re.compile(r"\*\*Status\.\*\* (.+?)\n\n", re.DOTALL)
_FIRST = re.compile(r"(?:Accepted|Superseded by \[(\d{4})\]\(\S+\), accepted) 20\d\d-\d\d-\d\d(?=[;.])")
_RELATIONS = {
    "superseded by": "supersedes",
    "superseded in part by": "supersedes in part",
    "extended by": "extends",
}
_OTHER = r"\[\d{4}\]\(\d{4}-[\w-]+\.md\)"
_RELATION = re.compile(
    rf"(superseded(?: in part)? by|supersedes|extended by|extends) ((?:{_OTHER}(?:, | and )?)+)( in part)?",
    re.IGNORECASE,
)


def status(text: str) -> str:
    """The status line of a decision, which stands right below its title; "" when it has none."""
    title = _TITLE.match(text)
    found = _STATUS.match(text, title.end()) if title else None
    return " ".join(found[1].split()) if found else ""


def relations(line: str) -> set[tuple[str, str]]:
    """(relation, number of the other decision), for each relation in a status line."""
    found = set()
    for word, others, in_part in _RELATION.findall(line):
        found |= {(f"{word.lower()}{in_part}", number) for number in re.findall(r"\[(\d{4})\]", others)}
    return found


def related() -> set[tuple[str, str, str]]:
    return {
        (p.name[:4], word, other) for p in PAGES for word, other in relations(status(p.read_text(encoding="utf-8")))
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name[:4])
def test_has_number_title_and_status(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    title = _TITLE.match(text)
    assert title is not None, "the first line is '# NNNN Title', an empty line follows"
    assert title[1] == page.name[:4]
    assert _FIRST.match(status(text)), "below the title stands '**Status.** Accepted YYYY-MM-DD.' and what became of it"
    words = {word for word, _ in relations(status(text))}
    assert words <= {*_RELATIONS, *_RELATIONS.values()}


def test_relations_stand_on_both_pages() -> None:
    found = related()
    back = {v: k for k, v in _RELATIONS.items()} | _RELATIONS
    assert {r for r in found if (r[2], back[r[1]], r[0]) not in found} == set()


def test_numbers_are_used_once() -> None:
    numbers = [int(p.name[:4]) for p in PAGES]
    assert sorted(set(numbers)) == numbers and numbers[0] == 1


def test_the_index_lists_all() -> None:
    listed = re.findall(
        r"^- \[(\d{4}) (.+)\]\((\S+)\)$", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    titles = [(_TITLE.match(p.read_text(encoding="utf-8")), p.name) for p in PAGES]
    assert listed == [(t[1], t[2], name) for t, name in titles if t is not None]


def test_the_checks_find_what_they_look_for() -> None:
    assert status("# 0001 A\n\n**Context.** b\n\n**Status.** Accepted 2026-11-21.\n\n") == ""
    assert _FIRST.match(status("# 0001 A\n\n**Status.** Accepted once.\n\n**Context.**")) is None
    line = "Accepted 2026-11-21; supersedes [0003](0003-a.md) and [0011](0011-b.md) in part; extends [0002](0002-c.md)."
    assert relations(line) == {("supersedes in part", "0003"), ("supersedes in part", "0011"), ("extends", "0002")}
    line = "Superseded by [0004](0004-d.md), accepted 2026-11-21; superseded in part by [0005](0005-e.md) (one; two)."
    assert ("superseded by", "0004") in relations(line)
    assert ("superseded in part by", "0005") in relations(line)
