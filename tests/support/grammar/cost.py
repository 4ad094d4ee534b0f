"""What a statement costs this process and its children: CPU time and the highest memory, as the system counts them."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

_EVERY_SECONDS = 0.02
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """``cpu`` in seconds; ``memory`` in bytes: by how much all processes together grew; 0 where nothing tells."""

    text: str
    cpu: float
    memory: int


@dataclass
class Meter:
    """Costs of each text, in order; ``around(text)`` measures one."""

    costs: list[Cost] = field(default_factory=list)

    @contextmanager
    def around(self, text: str) -> Iterator[None]:
        for process in _processes():
            with suppress(OSError):
                Path(f"/proc/{process}/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        held = {process: _bytes(process, "VmRSS:") for process in _processes()}
        begin = time.process_time() + _children_seconds()
        peaks, ended = dict[str, int](), Event()
        watch = Thread(target=_watch, args=(peaks, ended), daemon=True)
        watch.start()
        try:
            yield
        finally:
            ended.set()
            watch.join()
            cpu = time.process_time() + _children_seconds() - begin
            self.costs.append(Cost(text, cpu, sum(max(0, peaks[p] - held.get(p, 0)) for p in peaks)))

    def above(self, cpu: float, memory: int) -> list[Cost]:
        """Statements that cost more."""
        return [cost for cost in self.costs if cost.cpu > cpu or cost.memory > memory]


def _watch(peaks: dict[str, int], ended: Event) -> None:
    """The highest memory of each process, looked at again and again: one that is killed tells nothing afterwards."""
    last = False
    while not last:
        last = ended.wait(_EVERY_SECONDS)
        for process in _processes():
            peaks[process] = max(peaks.get(process, 0), _bytes(process, "VmHWM:"))


def _processes() -> list[str]:
    return [str(os.getpid()), *_children()]


def _children() -> list[str]:
    found: list[str] = []
    for file in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        with suppress(OSError):
            found += file.read_text(encoding="ascii").split()
    return found


def _children_seconds() -> float:
    """CPU seconds of children: those that have ended, and those that live."""
    ended = os.times()
    living = 0.0
    for process in _children():
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            living += (int(fields[11]) + int(fields[12])) / _TICKS
    return ended.children_user + ended.children_system + living


def _bytes(process: str, what: str) -> int:
    """A line of a process' status: "VmHWM:" is the highest, "VmRSS:" what it holds now."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(what):
                return int(line.split()[1]) * 1024
    return 0
