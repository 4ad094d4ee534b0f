"""What a peer in another Python gets and gives back: a folder with ``task.json`` and ``codes.npy``; ``answers.json``.

Imported by that Python, so this file needs nothing but numpy.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class PeerColumn:
    """A finite column: its values in the order of its codes, NULL as ``None``."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class PeerQuestion:
    """``conditions``: column and the codes it may have. ``sql``: the same as a statement."""

    conditions: tuple[tuple[str, tuple[int, ...]], ...]
    group: str | None
    sql: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it touches, conditions first."""
        return (*(c for c, _ in self.conditions), *([self.group] if self.group else []))


@dataclass(frozen=True)
class PeerTask:
    """Distinct questions on a table of finite columns; ``codes``: shape (rows, columns)."""

    table: str
    columns: tuple[PeerColumn, ...]
    codes: np.ndarray
    questions: tuple[PeerQuestion, ...]
    epsilon: float
    delta: float
    seed: int

    def size(self, column: str) -> int:
        """How many values the column has."""
        return len(next(c.values for c in self.columns if c.name == column))

    def write(self, folder: Path) -> None:
        """Both files into ``folder``."""
        np.save(folder / "codes.npy", self.codes)
        task = {
            "table": self.table,
            "columns": [[c.name, list(c.values)] for c in self.columns],
            "questions": [[q.conditions, q.group, q.sql] for q in self.questions],
            "epsilon": self.epsilon,
            "delta": self.delta,
            "seed": self.seed,
        }
        (folder / "task.json").write_text(json.dumps(task, default=str))

    @classmethod
    def read(cls, folder: Path) -> "PeerTask":
        """What ``write`` wrote."""
        task = json.loads((folder / "task.json").read_text())
        columns = tuple(PeerColumn(name, tuple(values)) for name, values in task["columns"])
        asked = tuple(
            PeerQuestion(tuple((c, tuple(codes)) for c, codes in conditions), group, sql)
            for conditions, group, sql in task["questions"]
        )
        codes = np.load(folder / "codes.npy")
        return cls(task["table"], columns, codes, asked, task["epsilon"], task["delta"], task["seed"])


def read_from_contingency(question: PeerQuestion, counts: np.ndarray) -> list[float]:
    """The question's numbers, one for each value of its group, from counts over its columns in order."""
    out = counts
    for _, codes in question.conditions:
        out = out[list(codes)].sum(axis=0)
    return [float(v) for v in np.atleast_1d(out)]


def write_answers(folder: Path, answers: Sequence[Sequence[float]], note: str) -> None:
    """One list of numbers for each question, and what to say of the run."""
    (folder / "answers.json").write_text(json.dumps({"answers": list(answers), "note": note}))


def read_answers(folder: Path) -> tuple[list[list[float]], str]:
    """What ``write_answers`` wrote."""
    found = json.loads((folder / "answers.json").read_text())
    return found["answers"], found["note"]


def batches(items: Sequence[PeerQuestion]) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Questions by the columns they touch, in order: the columns and the questions' positions."""
    by_columns: dict[tuple[str, ...], list[int]] = {}
    for i, q in enumerate(items):
        by_columns.setdefault(q.columns, []).append(i)
    yield from by_columns.items()
