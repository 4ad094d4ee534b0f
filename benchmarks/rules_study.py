"""Rules of models, one number changed at a time: ``python -m benchmarks.rules_study [--seeds 2] [--epsilon 1]``.

Simulated warm starts without the net on tables of several kinds, some with many structural zeros. For each variant of
the newest rules the mean error over ad-hoc questions, in that of the first rules; below, for each table, the variant
that the others would have chosen (geometric mean) and what it does on this one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import click
import numpy as np

from benchmarks.report import show
from benchmarks.simulated_tables import (
    ADULT6,
    CodedTable,
    adult,
    coded,
    statements,
    warm_measurements,
    warm_plan,
)
from benchmarks.tables import ADULT14
from dpsql.hypothesis import MODEL_RULES, NEWEST, DenseHypothesis, ModelRules, WideHypothesis
from dpsql.hypothesis.shrinkage import FLOOR
from dpsql.planning.contingencies import NARROW_CELLS
from dpsql.query import LinearQuery

DATA = Path(__file__).parent / "data"
NLTCS = (
    *("eating", "getting_in_out_of_bed", "getting_around_inside", "dressing", "bathing", "using_toilet"),
    *("heavy_house_work", "light_house_work", "laundry", "cooking", "grocery_shopping", "getting_about_outside"),
    *("traveling", "managing_money", "taking_medicine", "telephoning"),
)
CALLS = ("als_unit", "final_priority", "call_type_group", "original_priority", "unit_type", "battalion")
PLACES = (
    *("supervisor_district", "call_final_disposition", "zipcode_of_incident", "call_type"),
    *("neighborhooods_analysis_boundaries", "station_area"),
)
LOANS = ("term", "grade", "home_ownership", "verification_status", "loan_status", "purpose")
COLUMNS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "fire, priorities": ("fire", ("call_type_group", "original_priority", "priority", *CALLS[1:2], *CALLS[4:])),
    "fire, types": ("fire", (*CALLS[:2], "call_type", "unit_type", "call_final_disposition", "number_of_alarms")),
    "fire, places": ("fire", ("zipcode_of_incident", "battalion", "supervisor_district", "city", "als_unit")),
    "fire 12": ("fire", (*CALLS, *PLACES)),
    "loans": ("loans", LOANS),
    "loans 12": ("loans", (*LOANS, "sub_grade", "emp_length", "issue_d", "addr_state", "pub_rec", "inq_last_6mths")),
    "nltcs": ("nltcs", NLTCS),
    "flights 4": ("flights", ("month", "carrier", "origin", "hour")),
    "flights 6": ("flights", ("month", "day", "hour", "carrier", "origin", "dest")),
}
VARIANTS: Mapping[str, tuple[ModelRules, float]] = {
    "the newest rules": (NEWEST, FLOOR),
    "floor of the tensor .01": (NEWEST, 0.01),
    "floor of the tensor .001": (NEWEST, 0.001),
    "the first rules, that floor .001": (MODEL_RULES[1], 0.001),
    "no trace": (replace(NEWEST, trace=0.0), FLOOR),
    "trace .01": (replace(NEWEST, trace=0.01), FLOOR),
    "trace 1": (replace(NEWEST, trace=1.0), FLOOR),
    "rounds 24": (replace(NEWEST, rounds=24), FLOOR),
    "rounds 192": (replace(NEWEST, rounds=192), FLOOR),
    "moved .03": (replace(NEWEST, moved=0.03), FLOOR),
    "moved .1": (replace(NEWEST, moved=0.1), FLOOR),
    "moved 1": (replace(NEWEST, moved=1.0), FLOOR),
    "12 plain rounds, moved 1": (replace(NEWEST, accelerated=False, rounds=12, moved=1.0), FLOOR),
    "rakes 1": (replace(NEWEST, rakes=1), FLOOR),
    "rakes 5": (replace(NEWEST, rakes=5), FLOOR),
    "floor of pairs .05": (replace(NEWEST, floor=0.05), FLOOR),
    "floor of pairs .01": (replace(NEWEST, floor=0.01), FLOOR),
    "sweeps 5": (replace(NEWEST, sweeps=5), FLOOR),
    "sweeps 40": (replace(NEWEST, sweeps=40, settled=0.02), FLOOR),
}


@dataclass(frozen=True)
class Study:
    """A table, distinct ad-hoc questions with their true answers, and simulated starts."""

    table: CodedTable
    queries: Sequence[LinearQuery]
    truths: np.ndarray
    precision: float
    seeds: int

    def error(self, rules: ModelRules, floor: float) -> float:
        """Mean absolute error (counts) over questions and starts; ``floor``: of steps on a tensor."""
        table, off = self.table, []
        make = DenseHypothesis if table.domain.cells <= NARROW_CELLS else WideHypothesis
        for seed in range(1, self.seeds + 1):
            model = make(table.domain, table.rows, rules)
            for m in warm_measurements(table, self.precision, seed):
                model.absorb(m)
            with patch("dpsql.hypothesis.shrinkage.FLOOR", floor):
                off.append(np.abs([model.answer(q) - t for q, t in zip(self.queries, self.truths, strict=True)]))
        return float(np.mean(off))


def study(table: CodedTable, epsilon: str, seeds: int, count: int) -> Study:
    asked = {q.digest: q for s in statements(table.domain, count, 5) for q in s if q.scope}
    queries = list(asked.values())
    precision = 0.95 * float(warm_plan(Fraction(epsilon), 6, 0.96).release_precision)
    return Study(table, queries, np.array([table.truth(q) for q in queries]), precision, seeds)


def left_out(ratios: Mapping[str, Mapping[str, float]], table: str) -> tuple[str, float]:
    """The variant that the other tables choose, and its ratio on this one."""
    others = {v: [r for t, r in by_table.items() if t != table] for v, by_table in ratios.items()}
    best = min(others, key=lambda v: float(np.log(others[v]).mean()))
    return best, ratios[best][table]


@click.command()
@click.option("--seeds", default=2)
@click.option("--epsilon", default="1")
@click.option("--queries", default=300)
def main(seeds: int, epsilon: str, queries: int) -> None:
    tables = {name: coded(DATA / f"{file}.parquet", file, columns) for name, (file, columns) in COLUMNS.items()}
    tables |= {"adult 6": adult(ADULT6), "adult 14": adult(ADULT14)}
    ratios: dict[str, dict[str, float]] = {variant: {} for variant in VARIANTS}
    first: dict[str, object] = {"rules": "the first rules, in counts"}
    for name, table in tables.items():
        made = study(table, epsilon, seeds, queries)
        before = made.error(MODEL_RULES[1], FLOOR)
        first[name] = round(before, 1)
        for variant, (rules, floor) in VARIANTS.items():
            ratios[variant][name] = made.error(rules, floor) / before
    rows = [{"rules": v, **{t: round(r, 2) for t, r in found.items()}} for v, found in ratios.items()]
    whole = [{"all": round(float(np.exp(np.log(list(found.values())).mean())), 3)} for found in ratios.values()]
    notes = [f"epsilon {epsilon}, {seeds} starts, {queries} questions; mean error in that of the first rules"]
    for name in tables:
        chosen, ratio = left_out(ratios, name)
        notes.append(f"without {name} the others choose: {chosen}; there it has {ratio:.2f}")
    show("Rules of models", [first, *({**r, **w} for r, w in zip(rows, whole, strict=True))], "rules_study", notes)


if __name__ == "__main__":
    main()
