"""Peers with dependencies of their own, run as ``python -m MODULE FOLDER`` in a Python that has them."""

import importlib.util
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.peers.exchange import PeerColumn, PeerQuestion, PeerTask, read_answers
from benchmarks.peers.peer import Given
from benchmarks.task import DELTA, Task

ROOT = Path(__file__).parents[2]


class PeerFailedError(RuntimeError):
    """The other Python ended with an error; the message is the end of what it said."""


@dataclass(frozen=True)
class External:
    """``needs``: the module that must be importable. ``python``: the interpreter, by default this one.

    ``slow``: takes minutes for each seed, so that a comparison may give it fewer.
    """

    name: str
    title: str
    module: str
    needs: str
    install: str
    most_columns: int
    python: str | None = None
    most_seconds: int = 3600
    slow: bool = False

    def with_python(self, python: str) -> "External":
        """The same in another interpreter."""
        return replace(self, python=python)

    def refuses(self, task: Task) -> str | None:
        if not self._installed():
            return (
                f"not installed; in a virtual environment: pip install {self.install}; "
                f"then add --python {self.name}=VENV/bin/python"
            )
        if task.rows.text is not None:
            return "takes columns with a list of values only; this table has a text column"
        if len(task.rows.names) > self.most_columns:
            return f"runs for hours on {len(task.rows.names)} columns"
        return None

    def _installed(self) -> bool:
        if self.python is None:
            return importlib.util.find_spec(self.needs) is not None
        asked = [self.python, "-c", f"import {self.needs}"]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    def give(self, task: Task) -> Given:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            exported(task).write(folder)
            command = [self.python or sys.executable, "-m", self.module, str(folder)]
            try:
                done = subprocess.run(
                    command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=self.most_seconds
                )
            except subprocess.TimeoutExpired as error:
                raise PeerFailedError(f"{self.name}: no answer after {self.most_seconds:,} seconds") from error
            if done.returncode:
                raise PeerFailedError(f"{self.name}: {done.stderr.strip()[-500:]}")
            answers, note = read_answers(folder)
        return Given([np.maximum(0, np.array(a)) for a in answers], note)


def exported(task: Task) -> PeerTask:
    """The task without what only this Python knows; the truth stays here."""
    rows = task.rows
    columns = tuple(PeerColumn(c, rows.values(c)) for c in rows.names)
    questions = tuple(
        PeerQuestion(tuple((c.column, rows.accepted(c.column, c.values)) for c in q.conditions), q.group, q.sql)
        for q in task.asked
    )
    return PeerTask(
        task.table.domain.name, columns, rows.codes, questions, float(task.epsilon), float(DELTA), task.seed
    )


SMARTNOISE = External(
    "smartnoise", "SmartNoise SQL", "benchmarks.peers.smartnoise", "snsql", "smartnoise-sql numpy", 100
)
AIM = External("aim", "AIM (OpenDP), told all questions", "benchmarks.peers.aim", "mbi", "'opendp[mbi]'", 8, slow=True)
