"""Sessions on one table, each with a ledger and seeded noise of its own, whose error bars are learned briefly."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb
import pytest

import dpsql
import dpsql.mechanism
from tests.support.entropy import SeededEntropy
from tests.support.lessons import learned_briefly


@contextmanager
def seeded_sessions(
    folder: Path, patch: pytest.MonkeyPatch, table: str, policy: str, seeds: Sequence[int]
) -> Iterator[list[dpsql.Connection]]:
    """One for each seed, on what ``table`` creates: ``rows.duckdb``, ``policy.toml``, ``ledger1``, .. in ``folder``."""
    patch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
    learned_briefly(patch)
    rows, rules = folder / "rows.duckdb", folder / "policy.toml"
    with duckdb.connect(str(rows)) as con:
        con.execute(table)
    rules.write_text(policy)
    with ExitStack() as opened:
        made = []
        for seed in seeds:
            patch.setattr(dpsql.mechanism, "SystemEntropy", lambda seed=seed: SeededEntropy(seed))
            con_ = dpsql.connect(rows, policy=rules, ledger=folder / f"ledger{seed}", new_budget=True)
            made.append(opened.enter_context(con_))
        yield made
