"""What every peer does: say whether it can take a task, then answer each distinct question once."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks.task import Task


@dataclass(frozen=True)
class Given:
    """``answers``: for each distinct question its numbers, in counts. ``note``: what to say of the run."""

    answers: list[np.ndarray]
    note: str = ""


class Peer(Protocol):
    """``name``: as in ``--peers``. ``title``: as printed."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    def refuses(self, task: Task) -> str | None:
        """Why it cannot take the task; ``None`` when it can."""
        ...

    def give(self, task: Task) -> Given:
        """Answers under (task.epsilon, 1e-6) for the whole task."""
        ...
