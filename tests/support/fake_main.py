"""``python -m tests.support.fake_main``: the real command line in a real process, on a canned session."""

import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpsql.domain import Parameters
from dpsql.interface.cli import main
from dpsql.interface.dbapi import connect
from dpsql.interface.dbapi.connection import Connection
from dpsql.result import NO_TERMS, Result, Terms
from tests.support.fake_session import FakeSession, counts


class SlowSession(FakeSession):
    """``SLEEP`` takes ten seconds, ``LONG`` has many rows, ``WIDE`` wide ones, ``FILES`` opens one, ``CRASH`` fails."""

    def execute(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Result:
        if "SLEEP" in text:
            time.sleep(10)
        if "CRASH" in text:
            raise RuntimeError("canary 48842")
        if "WIDE" in text:
            return Result(pa.table({"city": ["東京"]}), ("VARCHAR",))
        if "FILES" in text:
            with Path(__file__).open() as file:
                above = "above 2" if file.fileno() > 2 else "a stream's"
            return Result(pa.table({"descriptor": [above]}), ("VARCHAR",))
        return counts(values=tuple(range(20_000))) if "LONG" in text else super().execute(text, parameters, terms)


def _connect(*_: Any, **__: Any) -> Connection:
    return Connection(SlowSession())


if __name__ == "__main__":
    connect.connect = _connect
    main()
