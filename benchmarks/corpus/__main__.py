"""The corpus by family and kind: ``python -m benchmarks.corpus [--write] [--refused]``.

Lowers every statement and charges nothing. ``--write`` writes the verdicts into the files, ``--refused`` lists the
statements whose verdict is not the one wanted.
"""

from dataclasses import replace

import click

from benchmarks.corpus.statements import KINDS, cases, every, families, summary, write
from benchmarks.corpus.verdicts import verdicts
from benchmarks.report import show


@click.command()
@click.option("--write", "writes", is_flag=True, help="Write the verdicts into the files.")
@click.option("--refused", "lists", is_flag=True, help="List the statements whose verdict is not the one wanted.")
def main(writes: bool, lists: bool) -> None:
    """By family and kind: answered, refused, wanted."""
    found = every()
    found = tuple(replace(c, verdict=v) for c, v in zip(found, verdicts(found), strict=True))
    if writes:
        said = {(c.family, c.sql): c.verdict for c in found}
        for family in families():
            write(family, cases(family), lambda c: said[c.family, c.sql])
    if lists:
        for case in found:
            if not case.as_wanted:
                print(case.text)
    show("The corpus by family", summary(found, lambda c: c.family, "family"), "corpus_families")
    by_kind = summary(sorted(found, key=lambda c: c.kind), lambda c: KINDS[c.kind], "kind")
    show("The corpus by kind", by_kind, "corpus_kinds")


if __name__ == "__main__":
    main()
