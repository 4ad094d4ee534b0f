"""``dpsql synth --compare --public``: which method suits a table, told on one whose rows are public."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from dpsql.errors import DataError
from dpsql.interface.console import Console


def run_comparison(
    console: Console,
    database: Path,
    policy: Path | None,
    table: str | None,
    workloads: Sequence[str],
    epsilon: str | None,
    rows: int | None,
    options: Mapping[str, str],
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run every method with the same budget, print errors, times and charges, draw them into a PNG."""
    from dpsql.interface.compare import compare, public_database
    from dpsql.interface.render.comparison import check_drawing, draw_comparison, render_comparison
    from dpsql.interface.render.structured import to_json
    from dpsql.interface.wanted import wanted

    if output is not None:
        check_drawing(output)
    with public_database(database, policy) as (connection, rules):
        names = [t.name for t in rules.tables]
        if table is None and len(names) != 1:
            raise DataError("there are several tables", hint="add --table; there are: " + ", ".join(names))
        asked = wanted(table or names[0], "session", list(workloads) or None, epsilon, rows, seed, options)
        found = compare(
            connection,
            rules,
            asked,
            rules.privacy.epsilon if asked.epsilon is None else asked.epsilon,
            on_progress=lambda method: console.progress(f"comparing: {method}"),
        )
    console.clear_progress()
    if output is not None:
        draw_comparison(found, output)
    if as_json:
        console.text(to_json([asdict(one) for one in found], indent=2) + "\n")
    else:
        console.lines(render_comparison(found, console.out))
