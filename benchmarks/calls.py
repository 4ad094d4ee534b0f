"""Python calls that one new statement makes, answered easily: ``python -m benchmarks.calls``.

Calls say more than milliseconds on a machine that others use: the same statement makes the same calls. They are counted
over the whole of ``con.execute`` in a session whose first look, hard rounds and memories lie behind it, and shown by
package: where a function is written is where its calls can be saved. Of another tree, in TREE:
``PYTHONPATH=TREE python benchmarks/calls.py``.
"""

import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

import dpsql
from benchmarks.accuracy_dense import Row
from benchmarks.tables import BenchmarkTable, adult6

WARM, COUNTED = 300, 41
_PACKAGE = str(Path(dpsql.__file__).parent)
Asked = tuple[str, Sequence[object] | None]


def plain(i: int) -> Asked:
    return f"SELECT COUNT(*) FROM adult WHERE {_ages(i)} AND sex = 'Male' AND income = '>50K'", None


def with_parameters(i: int) -> Asked:
    low, high = _bounds(i)
    sql = "SELECT COUNT(*) FROM adult WHERE age BETWEEN ? AND ? AND sex = ? AND income = ?"
    return sql, [low, high, "Male", ">50K"]


def with_filter_and_sum(i: int) -> Asked:
    return (
        f"SELECT COUNT(*) FILTER (WHERE sex = 'Male'), SUM(age) FROM adult WHERE {_ages(i)} AND income = '>50K'",
        None,
    )


SHAPES: dict[str, Callable[[int], Asked]] = {
    "a plain COUNT": plain,
    "one with parameters": with_parameters,
    "FILTER and SUM": with_filter_and_sum,
}


def _bounds(i: int) -> tuple[int, int]:
    return 11 + i % 29, 41 + i // 29 % 43


def _ages(i: int) -> str:
    low, high = _bounds(i)
    return f"age BETWEEN {low} AND {high}"


def calls(run: Callable[[], object]) -> Counter[str]:
    """Calls of Python functions that ``run`` makes, by package of dpsql (``other`` for libraries and the rest)."""
    found: Counter[CodeType] = Counter()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    out: Counter[str] = Counter()
    for code, count in found.items():
        out[_package(code.co_filename)] += count
    return out


def _package(file: str) -> str:
    if not file.startswith(_PACKAGE):
        return "other"
    return file.removeprefix(_PACKAGE).lstrip("/").split("/")[0].removesuffix(".py")


def counted(table: BenchmarkTable) -> list[Row]:
    """For each shape the median number of calls of new statements, and of those the calls of each package."""
    out: list[Row] = []
    with dpsql.connect(table.path, policy=table.policy(strategy="auto"), ledger=":memory:") as con:
        for name, shape in SHAPES.items():
            for i in range(WARM):
                con.execute(*shape(i))
            each = [calls(partial(con.execute, *shape(i))) for i in range(WARM, WARM + COUNTED)]
            totals = [c.total() for c in each]
            middle = each[totals.index(statistics.median(totals))]
            out.append({"statement": name, "calls": middle.total(), **dict(middle.most_common())})
    return out


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for row in counted(adult6(Path(folder))):
            name, total, *packages = row.items()
            print(f"{name[1]:20} {total[1]:6,} calls  ", ", ".join(f"{package} {n:,}" for package, n in packages))


if __name__ == "__main__":
    main()
