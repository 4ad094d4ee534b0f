"""First touches that are measured reservation by reservation, and whose losses are measured again. Public.

The one fold that contingencies and strings share: what of each measurement is released, what is missing, and what the
purse has left for it.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from dpsql.first.touch import Columns, FirstTouch, Released
from dpsql.hypothesis import Measurement, averaged
from dpsql.ledger.event import Payload
from dpsql.planning.portions import Portion, Purse, Want, portions


class Portioned(FirstTouch):
    """A first touch in portions. Each is named by a tuple of columns and averaged with the others of its name.

    ``payload["portions"]`` of a reservation holds, for each of its columns, how many portions came before and the
    planned units that are missing after; ledgers of earlier versions have none: all was one portion. The model hears of
    a measurement when its last portion is released, or when the purse is empty and the rest is given up.
    """

    def __init__(self) -> None:
        super().__init__()
        self._promised: dict[int, dict[Columns, tuple[int, int]]] = {}
        self._portions: dict[Columns, list[Released]] = {}
        self._rest: dict[Columns, int] = {}
        self._done: set[Columns] = set()
        self._sigmas: dict[Columns, tuple[float, ...]] = {}
        self._given_up = False

    # --- the fold ----------------------------------------------------------------------------------------------

    def reserved(self, reservation: int, cost: int, payload: Payload) -> None:
        self._changed()
        super().reserved(reservation, cost, payload)
        columns = [tuple(c) for c in payload["columns"]]
        told = payload.get("portions", [(0, 0)] * len(columns))
        self._promised[reservation] = {c: (before, rest) for c, (before, rest) in zip(columns, told, strict=True)}

    def freed(self, reservation: int) -> None:
        self._changed()
        del self._promised[reservation]
        super().freed(reservation)

    def burnt(self, reservation: int) -> None:
        self._changed()
        del self._promised[reservation]
        super().burnt(reservation)

    def _learn(self, reservation: int, released: Sequence[Released]) -> None:
        promised = self._promised[reservation]
        for kind, measurement in released:
            columns = self._named(kind, measurement)
            self._portions.setdefault(columns, []).append((kind, measurement))
            _, rest = promised.get(columns, (0, 0))
            if rest > 0:
                self._rest[columns] = rest
            else:
                self._finish(columns)

    def _lose(self, columns: frozenset[Columns]) -> None:
        self._give_up_if_empty()

    def _give_up_if_empty(self) -> None:
        """Where the purse cannot replace what is missing, what there is of it has to do."""
        if not self._given_up and self.purse().is_empty:
            self._given_up = True
            for columns in list(self._portions):
                self._finish(columns)

    def _finish(self, columns: Columns) -> None:
        found = self._portions.pop(columns)
        self._rest.pop(columns, None)
        self._done.add(columns)
        whole = self._whole(columns, [m for _, m in found])
        self._sigmas[columns] = tuple([m.sigma for _, m in found])
        self._complete.append((found[0][0], whole))
        self._know(columns, whole)

    def _whole(self, columns: Columns, portions: Sequence[Measurement]) -> Measurement:
        """What the portions of a measurement of these columns say together."""
        return averaged(portions)

    # --- what is left to do ------------------------------------------------------------------------------------

    def opened_before(self, reservation: int) -> bool:
        """Also for a portion that another session has released meanwhile."""
        if super().opened_before(reservation):
            return True
        promised = self._promised[reservation].items()
        return any(len(self._portions.get(c, ())) != before for c, (before, _) in promised)

    def purse(self) -> Purse:
        """What is left, and what all that is missing would cost; both without what is under way."""
        left = self.planned_units - self.spent - self.under_way_units() - self._overdraft()
        return Purse(self.planned_units, left, self._needed())

    def unbegun_units(self) -> int:
        purse = self.purse()
        return 0 if self._given_up else min(max(purse.left, 0), purse.needed)

    def portions_payload(self, chosen: Sequence[Portion]) -> dict[str, object]:
        """``columns`` and ``portions`` of a reservation's payload."""
        before = [len(self._portions.get(p.columns, ())) for p in chosen]
        told = [[n, p.rest] for n, p in zip(before, chosen, strict=True)]
        return {"columns": [list(p.columns) for p in chosen], "portions": told}

    def _next_portions(self, wanted: Iterable[Want]) -> list[Portion]:
        """The next reservation for what of ``wanted`` nobody has begun."""
        purse = self.purse()
        return [] if purse.is_empty else portions([w for w in wanted if not self._is_begun(w.columns)], purse)

    def _want(self, columns: Columns, whole: int, *, divisible: bool = True) -> Want:
        return Want(columns, whole, self._rest.get(columns, whole), divisible)

    def _missing(self, columns: Columns, whole: int) -> int:
        """Planned units that are missing when what is under way is released."""
        if self._is_done(columns):
            return 0
        for number in sorted(self._open):
            if columns in self._promised[number]:
                _, rest = self._promised[number][columns]
                return rest
        return self._rest.get(columns, whole)

    def _in_part(self) -> set[Columns]:
        """What some portion is released or under way of, but not all."""
        return {*self._portions, *(c for number in self._open for c in self._promised[number])} - self._done

    def sigmas(self, columns: Columns) -> tuple[float, ...]:
        """Noise (counts) of each portion of a complete measurement; none of what is not complete, or was lost."""
        return self._sigmas.get(columns, ())

    def _first_portion(self, columns: Columns) -> Measurement | None:
        found = self._portions.get(columns)
        return found[0][1] if found else None

    def _is_done(self, columns: Columns) -> bool:
        return columns in self._done or self._given_up

    def _overdraft(self) -> int:
        """Units that something else has taken from the purse."""
        return 0

    @abstractmethod
    def _needed(self) -> int:
        """Planned units of all that is missing, without what is under way."""

    @abstractmethod
    def _named(self, kind: str, measurement: Measurement) -> Columns:
        """The columns that reservations name it by."""

    @abstractmethod
    def _know(self, columns: Columns, measurement: Measurement) -> None:
        """A measurement is complete."""

    @abstractmethod
    def _changed(self) -> None:
        """Forget what was worked out from the state before."""
