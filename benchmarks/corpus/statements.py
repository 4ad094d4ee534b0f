"""The statements of the corpus: files by family, each statement with what is wanted and what it gets.

A file is ``tests/golden/corpus/FAMILY.sql``. Below a statement stand two comments: the kind of question with the
verdict wanted, and the verdict that it gets, which ``python -m benchmarks.corpus --write`` writes.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "golden" / "corpus"
Wanted = Literal["answered", "refused", "unanswerable"]
KINDS = (
    "counts, sums and averages, and what is made of them",
    "MIN and MAX",
    "COUNT(DISTINCT ...)",
    "rows of each unit",
    "joins in a counting block",
    "variance, quantiles, mode",
    "scopes of many cells",
    "patterns and expressions of text",
    "statements in two phases",
    "times of day and the clock",
    "groups that cannot occur",
    "sets of groupings, catalogs, sessions",
    "words of other dialects",
    "policies drafted from a database",
)
"""What a statement asks for that makes it hard, by its number in the files."""
ANSWERED = "answered"


@dataclass(frozen=True)
class Case:
    """One statement. ``words``: what the refusal wanted must say, or why there can be no answer.

    ``verdict`` is ``answered``, or the refusal with its place and hint.
    """

    family: str
    section: str
    sql: str
    kind: int
    wanted: Wanted
    words: str
    verdict: str

    @property
    def as_wanted(self) -> bool:
        """Whether the verdict is the one that is wanted: a refusal must say the words."""
        if self.wanted == "answered":
            return self.verdict == ANSWERED
        hinted = " | " in self.verdict and not self.verdict.endswith(" | None")
        return hinted and (self.wanted == "unanswerable" or self.words in self.verdict)

    @property
    def text(self) -> str:
        """The statement and its two comments."""
        words = f": {self.words}" if self.words else ""
        return f"{self.sql};\n-- {self.kind} {self.wanted}{words}\n-- {self.verdict}\n"


_WANTED = re.compile(r"(\d+) (\w+)(?:: (.+))?")


def families() -> tuple[str, ...]:
    """Names of the files, in order."""
    return tuple(sorted(p.stem for p in CORPUS.glob("*.sql")))


def cases(family: str) -> tuple[Case, ...]:
    """The statements of one file."""
    out: list[Case] = []
    section, sql = "", list[str]()
    for number, line in enumerate((CORPUS / f"{family}.sql").read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("-- ## "):
            section = line[6:]
        elif line.startswith("-- ") and sql and sql[-1].endswith(";"):
            found = _WANTED.fullmatch(line[3:])
            if found is None or found[2] not in get_args(Wanted) or int(found[1]) >= len(KINDS):
                raise ValueError(f"{family}.sql, line {number}: no kind and verdict: {line}")
            text = "\n".join(sql)[:-1]
            out.append(Case(family, section, text, int(found[1]), found[2], found[3] or "", ""))  # type: ignore[arg-type]
            sql = []
        elif line.startswith("-- ") and out and not sql:
            out[-1] = replace(out[-1], verdict=line[3:])
        elif line:
            sql.append(line)
    if sql:
        raise ValueError(f"{family}.sql: no verdict below {sql[0]}")
    return tuple(out)


def every() -> tuple[Case, ...]:
    """The whole corpus."""
    return tuple(case for family in families() for case in cases(family))


def write(family: str, found: Sequence[Case], verdict: Callable[[Case], str]) -> None:
    """Writes a file anew with the verdicts that its statements get."""
    parts: list[str] = []
    section = ""
    for case in found:
        if case.section != section:
            section = case.section
            parts.append(("\n" if parts else "") + f"-- ## {section}\n")
        parts.append(replace(case, verdict=verdict(case)).text)
    (CORPUS / f"{family}.sql").write_text("".join(parts), encoding="utf-8")


Row = dict[str, object]


def summary(found: Iterable[Case], key: Callable[[Case], str], name: str) -> list[Row]:
    """By family or kind: how many are answered and refused, and how many of those that should be are answered."""
    groups: dict[str, list[Case]] = {}
    for case in found:
        groups.setdefault(key(case), []).append(case)
        groups.setdefault("all", [])
    whole = [c for label, group in groups.items() if label != "all" for c in group]
    groups["all"] = whole
    ordered = [*(label for label in groups if label != "all"), "all"]
    return [{name: label, **_counts(groups[label])} for label in ordered]


def _counts(group: Sequence[Case]) -> Row:
    answered = sum(c.verdict == ANSWERED for c in group)
    wanted = [c for c in group if c.wanted == "answered"]
    refusals = [c for c in group if c.wanted != "answered"]
    got = sum(c.as_wanted for c in wanted)
    return {
        "statements": len(group),
        "answered": answered,
        "refused": len(group) - answered,
        "wanted answered": len(wanted),
        "of these": f"{100 * got / len(wanted):.0f} %" if wanted else "",
        "wanted refused": len(refusals),
        "with the words": sum(c.as_wanted for c in refusals),
    }
