"""Counts of cells that lie beside a ledger, so that the next process need not read the rows to have them. Private.

What is here are exact counts of private rows, readable by their owner alone, as the database is. All of it may be lost
or spoilt: then rows are counted again.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dpsql.query import Counts

LEAST_ROWS = 1_000_000
"""Tables of fewer rows are counted in a fraction of a second: nothing is kept of them."""
MOST_BYTES = 256 << 20
"""Of one ledger; the oldest make room."""

_MAGIC = b"dpsql cells 1\n"


class Companion:
    """A folder of counts, each under a ``key`` that says of what rows, by what rules and by which cells.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Companion(Path(folder) / "people.ledger.cells")
    ...     kept.keep("people by age", np.array([0, 2_000_000, 3]))
    ...     kept.get("people by age", 3), kept.get("people by sex", 3)
    (array([      0, 2000000,       3]), None)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def known(self, key: str, cells: int, count: Callable[[], Counts]) -> Counts:
        """Counts of ``cells`` cells, flat: what was kept, else what ``count`` finds, which is kept."""
        found = self.get(key, cells)
        if found is None:
            found = count()
            self.keep(key, found)
        return found

    def get(self, key: str, cells: int) -> Counts | None:
        """The counts that were kept under the key; ``None`` where there are none, or not whole."""
        try:
            content = self._file(key).read_bytes()
        except OSError:
            return None
        body = content[len(_MAGIC) + sha256().digest_size : -sha256().digest_size]
        if content != _sealed(key, body):
            return None
        at, counts = np.split(np.frombuffer(body, dtype=np.int64), 2)
        if len(at) and not 0 <= int(at.min()) <= int(at.max()) < cells:
            return None
        out = np.zeros(cells, dtype=np.int64)
        out[at] = counts
        return out

    def keep(self, key: str, counts: npt.NDArray[np.int64]) -> None:
        """Keep flat counts under a key. Where nothing can be written, nothing is."""
        (at,) = np.nonzero(counts)
        stream = BytesIO()
        stream.write(at.astype(np.int64).tobytes())
        stream.write(counts[at].astype(np.int64).tobytes())
        draft = None
        try:
            self._folder.mkdir(mode=0o700, parents=False, exist_ok=True)
            descriptor, draft = tempfile.mkstemp(dir=self._folder, suffix=".draft")  # readable by its owner alone
            with os.fdopen(descriptor, "wb") as file:
                file.write(_sealed(key, stream.getvalue()))
            Path(draft).replace(self._file(key))
            self._make_room()
        except OSError:
            return
        finally:
            if draft is not None:
                with suppress(OSError):
                    Path(draft).unlink(missing_ok=True)

    def _make_room(self) -> None:
        files = sorted(((f.stat(), f) for f in self._folder.glob("*.cells")), key=lambda found: -found[0].st_mtime_ns)
        size = 0
        for found, file in files:
            size += found.st_size
            if size > MOST_BYTES:
                file.unlink()

    def _file(self, key: str) -> Path:
        return self._folder / f"{sha256(key.encode()).hexdigest()[:40]}.cells"


def _sealed(key: str, body: bytes) -> bytes:
    """A file's content: what it is, of which key, and a digest by which a torn or spoilt one is known."""
    start = _MAGIC + sha256(key.encode()).digest() + body
    return start + sha256(start).digest()
