"""What every engine must do with text columns, declared and derived; a subclass says how to build one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import inf, nan, nextafter

import numpy as np
import pyarrow as pa
import pytest

from dpsql.domain import BooleanDomain, NumberDomain, TableDomain, TextDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.engine.partition import Partition
from dpsql.engine.protocol import Engine, OwnersEngine
from dpsql.errors import UnknownName
from dpsql.policy import Policy
from dpsql.query import Interval
from tests.contracts.engine_contract import policy_of

FILES = TableDomain("files", (BooleanDomain("old"), TextDomain("ext", (1, 2, 4)), TextDomain("owner")))
STRINGS = (
    *("", "a", "ab", "abc", "abd", "abc", "é", "e\u0301", "e\u0301x", "\u0301a"),
    *("🦆", "🦆a", "🦆ab", "👨\u200d👩\u200d👧", "🇩🇪x", "a\x01b", "a ", "AB", "가나다", "\U0010ffffxy", "%", "_b"),
)
OLD = [i % 3 == 0 for i in range(len(STRINGS) + 2)]
ROWS = pa.table({"old": OLD, "ext": [*STRINGS, None, None], "owner": ["x", "y"] * (len(OLD) // 2)})


class TextEngineContract(ABC):
    @abstractmethod
    def engine(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        """An engine over the tables."""

    @pytest.fixture
    def files(self) -> Engine:
        return self.engine(policy_of(FILES), {"files": ROWS})

    def counted(self, engine: Engine, column: str, table: str = "files") -> dict[str, int]:
        found = engine.key_counts(table, column).reveal()
        assert found.counts.dtype == np.int64 and not found.counts.flags.writeable
        assert list(found.keys) == sorted(found.keys, key=str.encode)
        assert found.counts.shape == (len(found.keys),) and (found.counts > 0).all()
        return dict(zip(found.keys, found.counts.tolist(), strict=True))

    def test_key_counts_are_every_string_without_null(self, files: Engine) -> None:
        assert self.counted(files, "ext") == {s: STRINGS.count(s) for s in STRINGS}
        assert self.counted(files, "owner") == {"x": 12, "y": 12}

    @pytest.mark.parametrize("length", [1, 2, 4])
    def test_a_prefix_is_the_first_code_points(self, files: Engine, length: int) -> None:
        short = [s[:length] for s in STRINGS]
        assert self.counted(files, f"ext[:{length}]") == {s: short.count(s) for s in short}

    @pytest.mark.parametrize("length", [1, 2, 4])
    def test_prefixes_are_counted_by_keys_and_cells(self, files: Engine, length: int) -> None:
        keys = (*sorted({s[:length] for s in STRINGS}), "absent", None)
        counts = files.keyed_counts("files", (f"ext[:{length}]",), tuple((k,) for k in keys), ("old",)).reveal()
        wanted = np.zeros((len(keys), 3), dtype=np.int64)
        for old, string in zip(OLD, [*STRINGS, None, None], strict=True):
            wanted[keys.index(None if string is None else string[:length]), int(old)] += 1
        assert counts.tolist() == wanted.tolist()
        whole = files.keyed_counts("files", ("ext[:4]", "owner"), (("🦆ab", "x"), ("🦆ab", "y"), (None, "y")), ())
        assert whole.reveal().tolist() == [1, 0, 1]

    def test_a_column_and_its_prefix_are_counted_together(self, files: Engine) -> None:
        keys = (("ab", "abc"), ("ab", "ab"), ("a", "abc"), (None, None))
        counts = files.keyed_counts("files", ("ext[:2]", "ext"), keys, ()).reveal()
        assert counts.tolist() == [2, 1, 0, 2]

    def test_only_kept_rows_are_counted(self) -> None:
        rows = pa.table({"w": ["ab", "ac", "b", "b", None, "a", "c"], "unit": [1, 1, 1, 2, 2, 2, 3]})
        for most, total in ((1, 3), (2, 5), (3, 7)):
            table = TableDomain("t", (TextDomain("w", (1,)),), unit="unit", max_rows_per_unit=most)
            engine = self.engine(policy_of(table), {"t": rows})
            assert engine.contingency("t", ()).reveal() == total
            for column in ("w", "w[:1]"):
                nulls = int(engine.keyed_counts("t", (column,), ((None,),), ()).reveal()[0])
                assert sum(self.counted(engine, column, "t").values()) + nulls == total
            whole = self.counted(engine, "w", "t")
            by_letter = {k: sum(n for s, n in whole.items() if s[0] == k) for k in {s[0] for s in whole}}
            assert self.counted(engine, "w[:1]", "t") == by_letter

    def test_dropped_rows_have_no_strings(self) -> None:
        table = TableDomain("files", (BooleanDomain("old", nullable=False), TextDomain("ext", (1,))))
        rows = pa.table({"old": [True, None, False], "ext": ["ab", "cd", None]})
        engine = self.engine(policy_of(table), {"files": rows})
        assert self.counted(engine, "ext") == {"ab": 1}
        assert self.counted(engine, "ext[:1]") == {"a": 1}

    def test_an_empty_table_has_no_keys(self) -> None:
        engine = self.engine(policy_of(FILES), {"files": ROWS.slice(0, 0)})
        assert self.counted(engine, "ext") == self.counted(engine, "ext[:2]") == {}

    def test_columns_that_have_no_keys(self, files: Engine) -> None:
        for column in ("old", "ext[:3]", "owner[:1]", "EXT", "nothing"):
            with pytest.raises(UnknownName):
                files.key_counts("files", column)
            with pytest.raises(UnknownName):
                files.keyed_counts("files", (column,), (), ())

    def test_keys_in_intervals_agree_with_the_twin(self) -> None:
        """At and beside edges; of a unit the kept rows alone; before and after whole strings."""
        edges = (-3.0, 0.0, 0.5, 7.0)
        columns = (NumberDomain("x", edges), NumberDomain("y", (0.0, 1.0, 50.0)), BooleanDomain("b"), TextDomain("s"))
        table = TableDomain("t", columns, unit="owner", max_rows_per_unit=2)
        at = (-3.5, -3.0, -0.0, 0.0, nextafter(0.0, 1.0), 0.25, 0.5, nextafter(0.5, 1.0), 7.0, 8.0)
        x = [*at, None, nan, inf, -inf]
        rows = {
            "owner": [i % 40 for i in range(6 * len(x))],
            "x": x * 6,
            "y": [(i * 7) % 13 / 3 for i in range(6 * len(x))],
            "b": [None if i % 5 == 0 else i % 2 == 0 for i in range(6 * len(x))],
            "s": [(*STRINGS, None)[i % 7] for i in range(6 * len(x) - 2)] + ["once", None],
        }
        keys = ((STRINGS[1],), ("absent",), (None,), ("once",), (STRINGS[3],), ("\ud800",))
        told = [(Interval("x", *e),) for e in ((-3.0, 0.0), (0.0, 0.0), (nextafter(0.5, 1.0), 7.0), (2.0, 1.0))]
        told += [(Interval("x", 0.25, 7.0), Interval("y", 1.0, 2.0)), ()]
        for policy in (policy_of(table), policy_of(replace(table, unit=None, max_rows_per_unit=1))):
            twin, engine = (make(policy, {"t": pa.table(rows)}) for make in (MemoryEngine, self.engine))
            for intervals, scope in product(told, ((), ("b",), ("y", "b"), ("b", "y"))):
                found, wanted = (e.keyed_counts("t", ("s",), keys, scope, intervals).reveal() for e in (engine, twin))
                assert found.dtype == np.int64 and not found.flags.writeable
                assert found.tolist() == wanted.tolist(), (intervals, scope)
            strings = set(rows["s"])
            every = engine.keyed_counts("t", ("s",), tuple((k,) for k in strings), ("b",), told[0]).reveal()
            whole = engine.part_counts("t", (Partition(("b",), np.arange(3), 3),), told[0]).reveal()
            assert every.sum(axis=0).tolist() == whole.tolist()
            for unknown in ((Interval("b", 0.0, 1.0),), (Interval("nothing", 0.0, 1.0),)):
                with pytest.raises(UnknownName):
                    engine.keyed_counts("t", ("s",), keys, (), unknown)
