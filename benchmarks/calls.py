"""Python calls that one new statement makes, answered easily: ``python -m benchmarks.calls``.

Calls say more than milliseconds on a machine that others use: the same statement makes the same calls. They are counted
over the whole of ``con.execute`` in a session whose first look and first statements lie behind it, and shown by
package: where a function is written is where its calls can be saved. Every statement asks what nobody asked before and
is answered from the model after a test; others are left out. Of another tree, in TREE: ``PYTHONPATH=TREE python
benchmarks/calls.py``.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from types import CodeType, FrameType

import dpsql
from benchmarks.accuracy_dense import Row
from benchmarks.tables import BenchmarkTable, adult6

WARM, COUNTED = 70, 31
_PACKAGE = str(Path(dpsql.__file__).parent)
Asked = tuple[str, Sequence[object] | None]
Values = tuple[str, str, str]


def plain(values: Values) -> Asked:
    education, workclass, sex = values
    conditions = f"education = '{education}' AND workclass = '{workclass}' AND sex = '{sex}' AND income = '>50K'"
    return f"SELECT COUNT(*) FROM adult WHERE {conditions}", None


def with_parameters(values: Values) -> Asked:
    conditions = "education = ? AND workclass = ? AND sex = ? AND income = ?"
    return f"SELECT COUNT(*) FROM adult WHERE {conditions}", [*values, "<=50K"]


def with_filter_and_sum(values: Values) -> Asked:
    education, workclass, sex = values
    asked = f"COUNT(*) FILTER (WHERE sex = '{sex}'), SUM(age)"
    return f"SELECT {asked} FROM adult WHERE education = '{education}' AND workclass = '{workclass}'", None


SHAPES: dict[str, Callable[[Values], Asked]] = {
    "a plain COUNT": plain,
    "one with parameters": with_parameters,
    "FILTER and SUM": with_filter_and_sum,
}


def values_of(table: BenchmarkTable) -> list[Values]:
    """Combinations of values, one sex first: a statement about one of them was never asked before."""
    domains = [table.domain.finite_domain(name).values for name in ("sex", "education", "workclass")]
    return [(str(e), str(w), str(s)) for s, e, w in product(*domains)]


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
    values = values_of(table)
    with dpsql.connect(table.path, policy=table.policy(strategy="auto"), ledger=":memory:") as con:
        for name, shape in SHAPES.items():
            for one in values[:WARM]:
                con.execute(*shape(one))
            found = [asked(con, shape(one)) for one in values[WARM:]]
            each = [c for c in found if c is not None][:COUNTED]
            middle = sorted(each, key=Counter.total)[len(each) // 2]
            own = middle.total() - middle["other"]
            out.append({"statement": name, "calls": middle.total(), "own": own, **dict(middle.most_common())})
    return out


def asked(con: dpsql.Connection, statement: Asked) -> Counter[str] | None:
    """The calls of one statement; ``None`` where it is not answered by the model after a test that it passed."""
    cursor = con.cursor()
    found = calls(partial(cursor.execute, *statement))
    easy = all(a.source == "hypothesis" and a.charged == 0.0 for a in cursor.answers)
    return found if easy else None


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for row in counted(adult6(Path(folder))):
            name, total, own, *packages = row.items()
            split = ", ".join(f"{package} {n:,}" for package, n in packages)
            print(f"{name[1]:20} {total[1]:6,} calls, {own[1]:,} in dpsql:  {split}")


if __name__ == "__main__":
    main()
