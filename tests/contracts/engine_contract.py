"""What every engine must do; a subclass says how to build one from Arrow tables."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from dpsql.domain import (
    FIXED_POINT,
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
    marks_of,
)
from dpsql.engine import MemoryEngine
from dpsql.engine.partition import Partition
from dpsql.engine.protocol import OwnersEngine
from dpsql.engine.tally import RowTally
from dpsql.errors import EngineError, InternalError, PolicyError, UnknownName
from dpsql.policy import Policy, Privacy
from dpsql.query import Interval

PETS = TableDomain(
    "pets",
    (
        CategoryDomain("species", ("Dog", "Cat", "", "Žába")),
        IntegerDomain("age", -1, 20),
        NumberDomain("weight", (0.0, 0.1, 0.5, 40.0)),
        BooleanDomain("chipped"),
        DateDomain("born", date(2019, 1, 31), date(2020, 3, 1), "month"),
        TextDomain("name"),
        TextDomain("street"),
    ),
)
ROWS = pa.table(
    {
        "species": ["Dog", "Cat", "dog", None, "", "Žába"],
        "age": [3, 20, 21, None, -1, 0],
        "weight": [0.1, 40.0, 40.1, None, float("nan"), -0.0],
        "chipped": [True, False, None, True, True, False],
        "born": [date(2019, 1, 1), date(2020, 3, 31), date(2020, 4, 1), None, date(2018, 12, 31), date(2019, 2, 5)],
        "name": ["Rex", "rex", "Rex", None, "", "Re\x01x"],
        "street": ["a", "a", "b", "b", None, "a"],
    }
)
PUBLIC = pa.table({"zip": ["01", "02"], "city": ["A", "B"]})


def policy_of(*tables: TableDomain, public: tuple[str, ...] = ()) -> Policy:
    return Policy(Privacy(Fraction(1), Fraction(1, 10**6)), tables, public_tables=public)


class EngineContract(ABC):
    @abstractmethod
    def engine(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        """An engine over the tables."""

    @pytest.fixture
    def pets(self) -> OwnersEngine:
        return self.engine(policy_of(PETS, public=("zips",)), {"pets": ROWS, "zips": PUBLIC})

    def count(self, engine: OwnersEngine, *columns: str, table: str = "pets") -> list[object]:
        counts = engine.contingency(table, columns).reveal()
        assert counts.dtype == np.int64
        assert not counts.flags.writeable
        return counts.tolist()

    def test_every_kind_of_column_has_its_codes(self, pets: OwnersEngine) -> None:
        assert self.count(pets, "species") == [1, 1, 1, 1, 2]
        assert self.count(pets, "age") == [1, 1, 0, 0, 1] + [0] * 16 + [1, 2]
        assert self.count(pets, "weight") == [1, 1, 2, 2]
        assert self.count(pets, "chipped") == [2, 3, 1]
        assert self.count(pets, "born") == [1, 1, *[0] * 12, 1, 3]

    def test_numbers_outside_are_clipped_or_null(self) -> None:
        weights = pa.array([0.1, 40.0, float("inf"), None, float("nan"), -math.inf])
        tables = {"pets": ROWS.set_column(2, "weight", weights)}
        assert self.count(self.engine(policy_of(PETS), tables), "weight") == [1, 1, 2, 2]
        (weight,) = (c for c in PETS.columns if isinstance(c, NumberDomain))
        strict = replace(PETS, columns=tuple(replace(c, outside="null") if c is weight else c for c in PETS.columns))
        assert self.count(self.engine(policy_of(strict), tables), "weight") == [0, 1, 1, 4]

    def test_sums_and_positions_are_those_of_clipped_values(self, pets: OwnersEngine) -> None:
        (weight,) = (c for c in PETS.columns if isinstance(c, NumberDomain))
        values = [0.1, 40.0, 40.0, None, None, 0.0]
        whole = pets.sums("pets", "weight", ()).reveal()
        assert whole.shape == () and whole.dtype == np.int64
        assert int(whole) == sum(0 if v is None else weight.share(v) for v in values)
        by_species = pets.sums("pets", "weight", ("species",)).reveal()
        assert int(by_species.sum()) == int(whole) and by_species.shape == (5,)
        turned = pets.sums("pets", "weight", ("chipped", "species")).reveal()
        assert (turned.sum(axis=0) == by_species).all()
        assert pets.positions("pets", "weight").reveal().tolist() == [0, 0, 2 * FIXED_POINT, 0]
        with pytest.raises(UnknownName):
            pets.sums("pets", "age", ())
        with pytest.raises(UnknownName):
            pets.positions("pets", "nothing")

    def test_sums_agree_with_the_twin(self) -> None:
        """Over a unit whose rows share cells: which of them is kept must not depend on how rows are stored."""
        edges = (-3.0, -1.0, 0.0, 0.5, 7.0)
        table = TableDomain("t", (NumberDomain("x", edges), BooleanDomain("b")), unit="owner", max_rows_per_unit=2)
        rows = {
            "owner": [i % 40 for i in range(300)],
            "x": [((i * 37) % 113) / 9.7 - 4.0 if i % 11 else -0.0 for i in range(300)],
            "b": [None if i % 5 == 0 else i % 2 == 0 for i in range(300)],
        }
        for policy in (policy_of(table), policy_of(replace(table, unit=None, max_rows_per_unit=1))):
            twin = MemoryEngine(policy, {"t": pa.table(rows)})
            for order in (range(300), range(299, -1, -1)):
                engine = self.engine(policy, {"t": pa.table({k: [v[i] for i in order] for k, v in rows.items()})})
                for columns in ((), ("b",), ("b", "x")):
                    found = engine.sums("t", "x", columns).reveal()
                    assert found.tolist() == twin.sums("t", "x", columns).reveal().tolist()
                assert engine.positions("t", "x").reveal().tolist() == twin.positions("t", "x").reveal().tolist()

    def test_rows_in_intervals_agree_with_the_twin(self) -> None:
        """At and beside edges and marks, where a wrong <= would show; of a unit the kept rows alone."""
        edges = (-3.0, -1.0, 0.0, 0.5, 7.0)
        columns = (NumberDomain("x", edges), NumberDomain("y", (0.0, 1.0, 50.0)), BooleanDomain("b"))
        table = TableDomain("t", columns, unit="owner", max_rows_per_unit=2)
        at = (-3.5, -3.0, -1.0, -0.0, 0.0, 0.25, 0.5, 0.7, 6.0, 7.0, 8.0)
        near = [
            v for x in at for v in (math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)) if abs(v) > 1e-300
        ]
        x = [*near, None, math.nan, math.inf, -math.inf, 0.0, 5e-324]
        rows = {
            "owner": [i % 60 for i in range(4 * len(x))],
            "x": x * 4,
            "y": [(i * 7) % 13 / 3 for i in range(4 * len(x))],
            "b": [None if i % 5 == 0 else i % 2 == 0 for i in range(4 * len(x))],
        }
        ends = [(-3.0, -1.0), (-1.0, 0.25), (0.0, 0.0), (0.25, 7.0), (math.nextafter(0.5, 1.0), 6.0), (2.0, 1.0)]
        told = [(Interval("x", *e),) for e in ends] + [(Interval("x", 0.25, 7.0), Interval("y", 1.0, 2.0)), ()]
        halves = (Partition(("b",), np.array([0, 1, 1]), 2), Partition(("y",), np.array([0, 1, 1]), 2))
        marks = marks_of(edges)
        for policy in (policy_of(table), policy_of(replace(table, unit=None, max_rows_per_unit=1))):
            twin, engine = (make(policy, {"t": pa.table(rows)}) for make in (MemoryEngine, self.engine))
            for intervals in told:
                for parts in ((), halves[:1], halves):
                    found, wanted = (e.part_counts("t", parts, intervals).reveal() for e in (engine, twin))
                    assert found.dtype == np.int64 and found.tolist() == wanted.tolist(), intervals
                for columns_asked in ((), ("b",), ("y", "b")):
                    found, wanted = (e.sums("t", "y", columns_asked, intervals).reveal() for e in (engine, twin))
                    assert found.tolist() == wanted.tolist(), intervals
                for parts, reach in product(((), halves[:1], halves), ((0, FIXED_POINT), (5_000_000, 5_000_001))):
                    found, wanted = (e.part_sums("t", "x", parts, intervals, reach).reveal() for e in (engine, twin))
                    assert found.dtype == np.int64 and found.tolist() == wanted.tolist(), intervals
                    counted = engine.part_counts("t", parts, intervals).reveal()
                    assert found[..., 0].tolist() == counted.tolist(), intervals
                    assert (found[..., 1] >= 0).all() and (found[..., 1] <= counted * (reach[1] - reach[0])).all()
                    if reach == (0, FIXED_POINT):
                        by_cell = engine.sums("t", "x", tuple(p.columns[0] for p in parts), intervals).reveal()
                        for axis in range(len(parts)):  # both halves are the first of three cells, and the others
                            by_cell = np.add.reduceat(by_cell, [0, 1], axis=axis)
                        assert found[..., 1].tolist() == by_cell.tolist(), intervals
            found, wanted = (e.value_counts("t", "x", marks).reveal() for e in (engine, twin))
            assert found.dtype == np.int64 and found.tolist() == wanted.tolist()
            assert int(found.sum()) == int(engine.contingency("t", ("x",)).reveal()[:-1].sum())
            for unknown in (Interval("b", 0.0, 1.0), Interval("nothing", 0.0, 1.0)):
                with pytest.raises(UnknownName):
                    engine.part_counts("t", halves, (unknown,))
                with pytest.raises(UnknownName):
                    engine.part_sums("t", "x", halves, (unknown,))
            for unsummed in ("b", "nothing"):
                with pytest.raises(UnknownName):
                    engine.part_sums("t", unsummed, halves)
            with pytest.raises(InternalError):
                engine.part_sums("t", "x", (replace(halves[0], labels=np.array([0, 1])),))
            with pytest.raises(UnknownName):
                engine.value_counts("t", "b", marks)

    @abstractmethod
    def over_a_view(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        """An engine whose tables are all views of these."""

    def test_a_base_table_is_told_from_a_view(self, pets: OwnersEngine) -> None:
        assert pets.is_base_table("pets") and pets.is_base_table("PETS")
        assert not self.over_a_view(policy_of(PETS), {"pets": ROWS}).is_base_table("pets")

    def test_columns_of_whole_numbers_are_told_from_others(self, pets: OwnersEngine) -> None:
        assert pets.is_of_integers("pets", "age") and pets.is_of_integers("PETS", "AGE")
        assert not any(pets.is_of_integers("pets", c.name) for c in PETS.columns if c.name != "age")

    def test_the_row_count_of_a_view_is_never_public(self) -> None:
        privacy = Privacy(Fraction(1), Fraction(1, 10**6), "replace-one")
        policy = Policy(privacy, (replace(PETS, row_count="public"),))
        assert self.engine(policy, {"pets": ROWS}).is_base_table("pets")
        with pytest.raises(PolicyError, match="view") as caught:
            self.over_a_view(policy, {"pets": ROWS})
        assert caught.value.path == "tables.pets.row_count" and caught.value.hint

    def test_no_columns_gives_the_number_of_rows(self, pets: OwnersEngine) -> None:
        counts = pets.contingency("pets", ()).reveal()
        assert counts.shape == () and int(counts) == 6

    def test_columns_come_in_the_order_asked(self, pets: OwnersEngine) -> None:
        one = pets.contingency("pets", ("species", "chipped", "age")).reveal()
        other = pets.contingency("pets", ("age", "species", "chipped")).reveal()
        assert one.shape == (5, 3, 23)
        assert (one.transpose(2, 0, 1) == other).all()
        assert one[1, 0, 21] == 1

    def test_asking_again_changes_nothing(self, pets: OwnersEngine) -> None:
        first = self.count(pets, "species", "age")
        self.count(pets, "weight")
        assert self.count(pets, "species", "age") == first

    def test_parts_are_sums_over_cells(self, pets: OwnersEngine) -> None:
        rng = np.random.default_rng(4)
        for scopes in ((), (("age",),), (("born",), ("species",)), (("weight", "age"), ("chipped",))):
            sizes = [3, 2][: len(scopes)]
            shapes = [PETS.shape(columns) for columns in scopes]
            labels = [rng.integers(0, n, shape) for n, shape in zip(sizes, shapes, strict=True)]
            each = tuple(Partition(c, own, n) for c, own, n in zip(scopes, labels, sizes, strict=True))
            cells = pets.contingency("pets", tuple(c for columns in scopes for c in columns)).reveal()
            expected = np.zeros(sizes, dtype=np.int64)
            for at in np.ndindex(*cells.shape):
                part, rest = [], list(at)
                for own in labels:
                    part.append(int(own[tuple(rest[: own.ndim])]))
                    rest = rest[own.ndim :]
                expected[tuple(part)] += cells[at]
            found = pets.part_counts("pets", each).reveal()
            assert found.dtype == np.int64
            assert found.shape == expected.shape
            assert not found.flags.writeable
            assert found.tolist() == expected.tolist()

    def test_parts_that_do_not_fit_are_refused(self, pets: OwnersEngine) -> None:
        labels = np.zeros(3, dtype=np.int64)
        chipped = Partition(("chipped",), labels, 1)
        with pytest.raises(UnknownName):
            pets.part_counts("pets", (replace(chipped, columns=("name",)),))
        for wrong in (
            (replace(chipped, labels=labels[:2]),),
            (replace(chipped, labels=labels + 1),),
            (replace(chipped, labels=labels - 1),),
            (chipped, chipped),
        ):
            with pytest.raises(InternalError):
                pets.part_counts("pets", wrong)

    def test_strings_match_byte_by_byte(self, pets: OwnersEngine) -> None:
        keys = (("Rex",), ("rex",), ("Re\x01x",), ("Re",), ("",), (None,), ("\ud800",), ("Rex",))
        counts = pets.keyed_counts("pets", ("name",), keys, ()).reveal()
        assert counts.tolist() == [2, 1, 1, 0, 1, 1, 0, 2]
        assert counts.dtype == np.int64 and not counts.flags.writeable

    stores_nul = True

    def test_a_nul_is_a_character_like_others(self) -> None:
        if not self.stores_nul:
            pytest.skip("strings of this database hold no U+0000")
        table = TableDomain("t", (TextDomain("s", (2,)), CategoryDomain("c", ("a", "a\0"))))
        rows = {"s": ["a", "a\0", "a\0b", "a\0b"], "c": ["a", "a\0", "a\0", "a\0b"]}
        engine = self.engine(policy_of(table), {"t": pa.table(rows)})
        assert engine.keyed_counts("t", ("s",), (("a",), ("a\0",), ("a\0b",)), ()).reveal().tolist() == [1, 1, 2]
        assert engine.key_counts("t", "s[:2]").reveal().keys == ("a", "a\0")
        assert self.count(engine, "c", table="t") == [1, 2, 1]
        assert engine.fingerprint() == MemoryEngine(policy_of(table), {"t": pa.table(rows)}).fingerprint()

    def test_keyed_counts_by_cells(self, pets: OwnersEngine) -> None:
        counts = pets.keyed_counts("pets", ("name",), (("Rex",), (None,)), ("chipped", "species")).reveal()
        assert counts.shape == (2, 3, 5)
        assert counts[0, 1, 0] == counts[0, 2, 4] == counts[1, 1, 4] == 1
        assert counts.sum() == 3
        narrower = pets.keyed_counts("pets", ("name",), (("Rex",), (None,)), ("species",)).reveal()
        assert (narrower == counts.sum(axis=1)).all()
        turned = pets.keyed_counts("pets", ("name",), (("Rex",), (None,)), ("species", "chipped")).reveal()
        assert (turned == counts.transpose(0, 2, 1)).all()

    def test_keys_of_several_text_columns(self, pets: OwnersEngine) -> None:
        keys = (("Rex", "a"), ("Rex", "b"), (None, "b"), ("", None), ("Rex", None))
        assert pets.keyed_counts("pets", ("name", "street"), keys, ()).reveal().tolist() == [1, 1, 1, 1, 0]
        swapped = tuple((b, a) for a, b in keys)
        assert pets.keyed_counts("pets", ("street", "name"), swapped, ()).reveal().tolist() == [1, 1, 1, 1, 0]

    def test_no_keys_give_no_rows(self, pets: OwnersEngine) -> None:
        assert pets.keyed_counts("pets", ("name",), (), ("chipped",)).reveal().shape == (0, 3)

    def test_a_row_outside_a_column_that_is_not_nullable_counts_nowhere(self) -> None:
        table = TableDomain(
            "pets", (CategoryDomain("species", ("Dog", "Cat"), nullable=False), BooleanDomain("chipped"))
        )
        engine = self.engine(policy_of(table), {"pets": ROWS})
        assert self.count(engine, "species") == [1, 1]
        assert self.count(engine, "chipped") == [1, 1, 0]
        assert self.count(engine) == 2

    def test_a_null_text_that_is_not_nullable_drops_the_row(self) -> None:
        table = TableDomain("pets", (BooleanDomain("chipped"), TextDomain("name", nullable=False)))
        engine = self.engine(policy_of(table), {"pets": ROWS})
        assert self.count(engine) == 5
        assert engine.keyed_counts("pets", ("name",), ((None,),), ()).reveal().tolist() == [0]

    def test_a_unit_contributes_at_most_its_rows(self) -> None:
        rows = pa.table({"owner": [1, 1, 1, 2, None, None, None], "age": [0, 1, 2, 0, 0, 1, 2]})
        for most, total in ((1, 3), (2, 5), (3, 7)):
            table = TableDomain("t", (IntegerDomain("age", 0, 2),), unit="owner", max_rows_per_unit=most)
            engine = self.engine(policy_of(table), {"t": rows})
            assert self.count(engine, table="t") == total
            assert sum(self.count(engine, "age", table="t")) == total

    def test_the_rows_kept_of_a_unit_depend_on_that_unit_alone(self) -> None:
        table = TableDomain("t", (IntegerDomain("age", 0, 9),), unit="owner", max_rows_per_unit=2)
        mine = {"owner": [7] * 5, "age": [1, 3, 5, 7, 9]}
        alone = self.count(self.engine(policy_of(table), {"t": pa.table(mine)}), "age", table="t")
        crowd = {"owner": [*[3] * 6, *reversed(mine["owner"])], "age": [0, 2, 4, 6, 8, 0, *reversed(mine["age"])]}
        among = self.count(self.engine(policy_of(table), {"t": pa.table(crowd)}), "age", table="t")
        assert [n for i, n in enumerate(among) if i % 2] == [n for i, n in enumerate(alone) if i % 2]

    def test_units_do_not_all_keep_the_same_favourite_value(self) -> None:
        table = TableDomain("t", (BooleanDomain("b"),), unit="owner", max_rows_per_unit=1)
        rows = pa.table({"owner": [i for i in range(200) for _ in range(2)], "b": [False, True] * 200})
        no, yes, _ = self.count(self.engine(policy_of(table), {"t": rows}), "b", table="t")
        assert no + yes == 200 and 60 < no < 140

    def test_a_dropped_row_takes_no_place_of_its_unit(self) -> None:
        columns = (IntegerDomain("age", 0, 2, nullable=False),)
        table = TableDomain("t", columns, unit="owner", max_rows_per_unit=1)
        rows = pa.table({"owner": ["x"] * 9, "age": [9] * 8 + [1]})
        assert self.count(self.engine(policy_of(table), {"t": rows}), "age", table="t") == [0, 1, 0]

    def test_an_empty_table(self) -> None:
        engine = self.engine(policy_of(PETS), {"pets": ROWS.slice(0, 0)})
        assert self.count(engine) == 0
        assert sum(self.count(engine, "chipped")) == 0
        assert engine.keyed_counts("pets", ("name",), (("Rex",),), ("chipped",)).reveal().sum() == 0
        assert engine.fingerprint()

    def test_fingerprint_sees_content_and_not_order(self) -> None:
        policy = policy_of(PETS)

        def fingerprint(rows: pa.Table) -> str:
            return self.engine(policy, {"pets": rows}).fingerprint()

        first = fingerprint(ROWS)
        assert fingerprint(ROWS.take([5, 3, 1, 0, 2, 4])) == first
        assert fingerprint(ROWS.select(ROWS.column_names[::-1])) == first
        different = [
            ROWS.slice(1),
            pa.concat_tables([ROWS, ROWS.slice(0, 1)]),
            ROWS.set_column(5, "name", pa.array(["Rex", "rex", "Rex", "", "", "Re\x01x"])),
            ROWS.set_column(1, "age", pa.array([3, 20, 22, None, -1, 0])),  # both are out of the domain
        ]
        different.append(ROWS.append_column("undeclared", pa.array(range(6))))
        assert len({first, *map(fingerprint, different)}) == 6

    def test_data_are_known_again_whatever_engine_reads_them(self) -> None:
        """Else a copy in another database would be other data: a second budget."""
        weights = pa.array([0.1, 40.0, 40.1, None, -2.5, 9.0])  # not every database holds NaN and -0.0
        policy, tables = policy_of(PETS), {"pets": ROWS.set_column(2, "weight", weights)}
        engine, twin = self.engine(policy, tables), MemoryEngine(policy, tables)
        assert engine.fingerprint() == twin.fingerprint()
        assert engine.table_fingerprints() == twin.table_fingerprints()

    def test_every_engine_keeps_the_same_rows_of_a_unit(self) -> None:
        """Else a ledger that goes on in another database would speak of other rows."""
        columns = IntegerDomain("age", 0, 9), DateDomain("day", date(2020, 1, 1), date(2020, 1, 9)), TextDomain("name")
        policy = policy_of(TableDomain("t", columns, unit="owner", max_rows_per_unit=2))
        rows = {
            "owner": [f"o{i % 30}" if i % 7 else None for i in range(300)],
            "age": [i * 7 % 11 for i in range(300)],
            "day": [date(2020, 1, 1 + i * 5 % 10) for i in range(300)],
            "name": ["abc"[i % 3] if i % 13 else None for i in range(300)],
        }
        engine, twin = self.engine(policy, {"t": pa.table(rows)}), MemoryEngine(policy, {"t": pa.table(rows)})
        assert self.count(engine, "age", "day", table="t") == self.count(twin, "age", "day", table="t")
        ours, theirs = (e.key_counts("t", "name").reveal() for e in (engine, twin))
        assert (ours.keys, ours.counts.tolist()) == (theirs.keys, theirs.counts.tolist())

    def test_the_owner_is_told_what_is_outside(self) -> None:
        table = TableDomain("pets", tuple(c for c in PETS.columns if c.name != "weight"))
        engine = self.engine(policy_of(table), {"pets": ROWS})
        assert engine.out_of_domain("pets") == {"species": 1, "age": 1, "chipped": 0, "born": 2}
        assert self.engine(policy_of(PETS), {"pets": ROWS}).out_of_domain("pets")["weight"] == 2  # one NaN, one clipped

    def test_the_owner_is_told_of_strings_that_are_in_more_rows_than_said(self) -> None:
        columns = TextDomain("name", max_rows_per_value=2), TextDomain("city"), IntegerDomain("age", 0, 9)
        rows = {
            "name": ["a", "a", "a", "A", "A", "", "b", None, None, None],
            "city": ["x"] * 10,
            "age": [1, 1, 11, 1, 1, 1, 1, 1, 1, None],
            "who": ["p", "p", "q", "r", "r", "s", "t", "u", "u", "u"],
        }
        data = {"t": pa.table(rows)}
        told = self.engine(policy_of(TableDomain("t", columns)), data).out_of_domain("t")
        assert told == {"name": 3, "age": 1}  # NULL is no string, and A is another than a
        alone = TableDomain("t", (columns[0],), unit="who", max_rows_per_unit=1)
        assert self.engine(policy_of(alone), data).out_of_domain("t") == {"name": 0}  # of the rows that count

    def test_the_owner_is_told_which_rows_are_dropped_and_why(self) -> None:
        columns = IntegerDomain("age", 0, 9, nullable=False), TextDomain("name", nullable=False)
        rows = pa.table(
            {
                "owner": ["a", "a", "a", "A", None, None, None, "b", "b", "c"],
                "age": [1, 2, 3, 4, 5, 6, 7, None, 10, 0],
                "name": ["x"] * 9 + [None],
            }
        )
        plain = self.engine(policy_of(TableDomain("t", columns)), {"t": rows})
        assert plain.row_tally("t") == RowTally(10, 3)
        units = self.engine(policy_of(TableDomain("t", columns, "owner", 2)), {"t": rows})
        tally = units.row_tally("t")
        assert tally == RowTally(10, 3, beyond_cap=2, units=3, units_beyond_cap=2, without_unit=3)
        assert tally.counted == 5 == int(units.contingency("t", ()).reveal())
        empty = self.engine(policy_of(TableDomain("t", columns, "owner", 2)), {"t": rows.slice(0, 0)})
        assert empty.row_tally("t") == RowTally(0, 0)

    def test_fingerprint_covers_the_unit(self) -> None:
        table = TableDomain("t", (BooleanDomain("b"),), unit="owner", max_rows_per_unit=1)
        found = {
            self.engine(policy_of(table), {"t": pa.table({"owner": owners, "b": [True, True]})}).fingerprint()
            for owners in ([1, 2], [1, 1], [1, None])
        }
        assert len(found) == 3

    def test_table_fingerprints_know_the_same_people_under_every_policy(self) -> None:
        both = TableDomain("t", (BooleanDomain("b"), TextDomain("w"))), TableDomain("other", (BooleanDomain("b"),))
        tables = {
            "t": pa.table({"b": [True, False], "w": ["x", "y"], "owner": [1, 2]}),
            "other": pa.table({"b": [True]}),
        }
        whole = set(self.engine(policy_of(*both), tables).table_fingerprints())
        assert len(whole) == 2
        fewer = TableDomain("t", (TextDomain("w"),))
        units = TableDomain("t", both[0].columns, unit="owner", max_rows_per_unit=2)
        for policy in map(policy_of, (fewer, units, both[1])):
            (one,) = self.engine(policy, tables).table_fingerprints()
            assert one in whole
        renamed = {"other": tables["t"].select(["owner", "w", "b"])}
        assert set(self.engine(policy_of(both[1]), renamed).table_fingerprints()) < whole

    def test_public_tables_are_whole_and_private_ones_refused(self, pets: OwnersEngine) -> None:
        assert pets.public_table("ZIPS").to_pydict() == PUBLIC.to_pydict()
        for name in ("pets", "nothing"):
            with pytest.raises(UnknownName):
                pets.public_table(name)

    def test_unknown_names(self, pets: OwnersEngine) -> None:
        for ask in (
            lambda: pets.contingency("pats", ()),
            lambda: pets.contingency("pets", ("name",)),
            lambda: pets.contingency("pets", ("colour",)),
            lambda: pets.keyed_counts("pets", ("age",), (), ()),
            lambda: pets.keyed_counts("pets", ("name",), (), ("street",)),
        ):
            with pytest.raises(UnknownName):
                ask()

    def test_a_policy_that_does_not_fit(self) -> None:
        with pytest.raises(PolicyError) as e:
            self.engine(policy_of(PETS), {"cats": ROWS})
        assert e.value.path == "tables.pets"
        with pytest.raises(PolicyError) as e:
            self.engine(policy_of(PETS), {"pets": ROWS.drop_columns(["age"])})
        assert e.value.path == "tables.pets.columns.age"

    def test_close_is_idempotent_and_final(self, pets: OwnersEngine) -> None:
        pets.close()
        pets.close()
        with pytest.raises(EngineError):
            pets.contingency("pets", ("age",))
