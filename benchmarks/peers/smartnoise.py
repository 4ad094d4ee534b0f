"""SmartNoise SQL: ``python -m benchmarks.peers.smartnoise FOLDER``, in a Python with ``pip install smartnoise-sql``.

Each question is one private statement with pure epsilon_0 (its default, discrete Laplace), the largest epsilon_0 for
which its own odometer (Kairouz, Oh, Viswanath 2015, Thm 3.5) stays within (epsilon, delta) after all of them.
"""

import sqlite3
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.exchange import PeerTask, write_answers


def epsilon_each(odometer: Any, privacy: Any, questions: int, epsilon: float, delta: float) -> float:
    """The largest epsilon of one statement, by bisection on the odometer."""
    low, high = 0.0, epsilon
    for _ in range(50):
        middle = (low + high) / 2
        made = odometer(privacy(epsilon=middle, delta=0.0))
        made.tol = delta
        made.steps = [(middle, 0.0)] * questions
        low, high = (middle, high) if float(made.spent[0]) <= epsilon else (low, middle)
    return low


def database(task: PeerTask) -> sqlite3.Connection:
    """The table in SQLite, with its values."""
    con = sqlite3.connect(":memory:")
    names = ", ".join(f"{c.name} {_type(c.values)}" for c in task.columns)
    con.execute(f"CREATE TABLE {task.table} ({names})")
    rows = zip(*([c.values[k] for k in task.codes[:, i]] for i, c in enumerate(task.columns)), strict=True)
    con.executemany(f"INSERT INTO {task.table} VALUES ({', '.join('?' * len(task.columns))})", rows)
    return con


def _type(values: tuple[Any, ...]) -> str:
    return "TEXT" if isinstance(values[0], str) else "REAL"


def metadata(task: PeerTask) -> dict[str, Any]:
    """Rows are privacy units; groups are public; counts are cut at 0."""
    columns: dict[str, Any] = {}
    for c in task.columns:
        numbers = [v for v in c.values if v is not None]
        if _type(c.values) == "TEXT":
            columns[c.name] = {"type": "string"}
        else:
            columns[c.name] = {"type": "float", "lower": float(numbers[0]), "upper": float(numbers[-1])}
    table = {"row_privacy": True, "censor_dims": False, "clamp_counts": True, "rows": len(task.codes), **columns}
    return {"": {"main": {task.table: table}}}


def main() -> None:
    """Ask every question once."""
    from snsql import Privacy, from_connection  # type: ignore[import-not-found]
    from snsql.sql.odometer import OdometerHeterogeneous  # type: ignore[import-not-found]

    folder = Path(sys.argv[1])
    task = PeerTask.read(folder)
    each = epsilon_each(OdometerHeterogeneous, Privacy, len(task.questions), task.epsilon, task.delta)
    reader = from_connection(
        database(task), privacy=Privacy(epsilon=each, delta=task.delta), metadata=metadata(task), engine="sqlite"
    )
    values = {c.name: c.values for c in task.columns}
    answers = []
    for q in task.questions:
        sql = q.sql.replace(f"FROM {task.table}", f"FROM main.{task.table}", 1)
        found = reader.execute(sql)[1:]
        if q.group is None:
            answers.append([float(found[0][0])])
            continue
        known = {row[0]: float(row[1]) for row in found}
        answers.append([known.get(v, 0.0) for v in values[q.group]])
    write_answers(folder, answers, f"epsilon {each:.5f} for each of {len(answers):,} statements")


if __name__ == "__main__":
    main()
