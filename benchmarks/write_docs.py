"""Refresh docs/benchmarks.md from ``benchmarks/results``: ``python -m benchmarks.write_docs``.

In the page, what stands between ``<!-- result NAME -->`` and ``<!-- end -->`` is replaced by the table of
``results/NAME.json``, its command and its picture; ``<!-- summary -->``, ``<!-- wins -->`` and ``<!-- bars -->`` by one
line for each comparison, each that another won, and each check of the error bars. A result that is not there leaves its
part of the page as it was.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.picture import draw
from benchmarks.report import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PICTURES = PAGE.with_suffix("")
Kept = dict[str, Any]

_PART = re.compile(r"<!-- (result (\S+)|summary|bars|wins) -->\n(.*?)<!-- end -->", re.DOTALL)


def number(value: object) -> str:
    """As in the page: counts without decimals from 10 on.

    >>> number(3.14159), number(12345.6), number(""), number("public")
    ('3.1', '12,346', '', 'public')
    """
    if isinstance(value, bool) or not isinstance(value, float | int):
        return str(value)
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def errors_table(kept: Kept) -> str:
    """Each method's errors; a peer that did not take part with its reason."""
    rows = []
    for r in kept["rows"]:
        if "mean" not in r:
            rows.append([r["method"], "", "", "", "", r["note"]])
            continue
        low, high = (number(float(x)) for x in r["spread"].split(" to "))
        mean = number(r["mean"]) + (f" ({low} to {high})" if len(r["seeds"]) > 1 else "")
        rows.append([r["method"], mean, number(r["p95"]), number(r["max"]), f"{r['ratio']:.2f}", r["note"]])
    return markdown(["method", "mean", "p95", "max", "ratio", "of the first seed"], rows)


def coverage_table(kept: Kept) -> str:
    """Coverage of the error bars by class of answer."""
    rows = []
    for r in kept["rows"]:
        inside = f"{r['coverage']:.1%}" if "coverage" in r else "none"
        rows.append(
            [r["class"], number(r["numbers"]), inside, number(r.get("median error", "")), str(r.get("width", ""))]
        )
    return markdown(["class", "numbers", "inside", "median bar", "in median errors"], rows)


def result(name: str, folder: Path = RESULTS) -> str | None:
    """The part of the page for one result, its picture drawn beside; ``None`` when there is no such result."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    kept: Kept = json.loads(path.read_text())
    table = coverage_table(kept) if "class" in kept["rows"][0] else errors_table(kept)
    PICTURES.mkdir(exist_ok=True)
    draw(name, kept, PICTURES)
    picture = f"\n![{kept['title']}](./benchmarks/{name}.svg)\n" if (PICTURES / f"{name}.svg").exists() else ""
    return f"{kept['title']}: `{kept['command']}`\n\n{table}{picture}"


def _results(prefix: str, folder: Path) -> list[Kept]:
    found = [json.loads(p.read_text()) for p in sorted(folder.glob(f"{prefix}_*.json"))]
    order = {name: i for i, name in enumerate(dict.fromkeys(k["setting"]["table"] for k in found))}
    return sorted(
        found,
        key=lambda k: (order[k["setting"]["table"]], -float(k["setting"]["epsilon"]), k["setting"]["queries"]),
    )


def summary(folder: Path = RESULTS) -> str:
    """One line for each comparison: dpsql, the headline peer, and whoever was best."""
    rows = []
    for kept in _results("compare", folder):
        by_peer = {r["peer"]: r for r in kept["rows"] if "mean" in r}
        own, headline = by_peer.get("dpsql"), by_peer.get("gaussian")
        if own is None or headline is None:
            continue
        best = min(by_peer.values(), key=lambda r: float(r["mean"]))
        setting = kept["setting"]
        wins = "dpsql" if best is own else f"**{best['method']}**, {number(best['mean'])}"
        told = [number(own["mean"]), number(headline["mean"]), f"{own['ratio']:.2f}", wins]
        rows.append([setting["table"], setting["epsilon"], f"{setting['queries']:,}", str(setting["seeds"]), *told])
    return markdown(["table", "epsilon", "k", "seeds", "dpsql", "Gaussian told k", "ratio", "best"], rows)


def wins(folder: Path = RESULTS) -> str:
    """One line for each comparison in which another peer had a smaller error than dpsql: who, and by how much."""
    rows = []
    for kept in _results("compare", folder):
        setting = kept["setting"]
        by_peer = {r["peer"]: r for r in kept["rows"] if "mean" in r}
        own = by_peer.pop("dpsql", None)
        if own is None:
            continue
        better = [
            ", ".join(f"{r['method']} {number(r[what])}" for r in by_peer.values() if r[what] < own[what])
            for what in ("mean", "p95", "max")
        ]
        if any(better):
            ours = [number(own[what]) for what in ("mean", "p95", "max")]
            told = [f"{who} (dpsql {value})" if who else "" for who, value in zip(better, ours, strict=True)]
            rows.append([setting["table"], setting["epsilon"], f"{setting['queries']:,}", *told])
    return markdown(["table", "epsilon", "k", "smaller mean", "smaller p95", "smaller maximum"], rows)


def bars(folder: Path = RESULTS) -> str:
    """One line for each check of the error bars."""
    rows = []
    for kept in _results("error_bars", folder):
        first, *others = kept["rows"]
        setting = kept["setting"]
        known = [r for r in others if "coverage" in r and r["numbers"] >= 50]
        worst = min(known, key=lambda r: float(r["coverage"]), default=first)
        rows.append(
            [
                *(setting["table"], setting["epsilon"], number(first["numbers"]), number(first["without error"])),
                f"{first.get('coverage', 0.0):.1%}",
                f"{worst.get('coverage', 0.0):.1%} ({worst['class']})",
                str(first.get("width", "")),
                f"{first['exceeded']:,} of {first['certified by a test']:,}",
            ]
        )
    header = [
        "table",
        "epsilon",
        "numbers",
        "without bar",
        "inside",
        "worst class of 50 or more",
        "width",
        "certified, exceeded",
    ]
    return markdown(header, rows)


def refreshed(page: str, folder: Path = RESULTS) -> str:
    """The page with every part for which there are results made anew."""

    def part(found: re.Match[str]) -> str:
        what, name, old = found.groups()
        if name is None:
            prefix, make = {"summary": ("compare", summary), "wins": ("compare", wins), "bars": ("error_bars", bars)}[
                what
            ]
            new = make(folder) if any(folder.glob(f"{prefix}_*.json")) else None
        else:
            new = result(name, folder)
        return f"<!-- {what} -->\n{old if new is None else new}<!-- end -->"

    return _PART.sub(part, page)


@click.command()
def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(refreshed(page), encoding="utf-8")
    missing = [name for _, name, _ in _PART.findall(page) if name and not (RESULTS / f"{name}.json").exists()]
    print(f"{PAGE.name} written" + (f"; kept as they were: {', '.join(missing)}" if missing else ""))


if __name__ == "__main__":
    main()
