"""Coupled transcripts: what a session shows is a function of what it releases, and noise is made for what can change.

A session on one database records every draw; a session on a neighbour is fed the same released values. Then all that is
shown and kept must be equal, and private numbers may differ by what is charged, in the norm of the noise. Broken
variants are flagged by the same comparison.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT
from dpsql.engine.duckdb.engine import DuckDbEngine
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.errors import DataError
from dpsql.first import bench, listed, warm_start
from dpsql.first.listed import one_for_all
from dpsql.mechanism.choice import choose
from dpsql.mechanism.randomized_response import response_epsilon
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session import session
from dpsql.session.own.own_noise import OwnNoise
from dpsql.session.own.residual import Residual
from dpsql.session.strings import read
from tests.support import walk
from tests.support.coupled import compared, coupled, told
from tests.support.coupled.compare import differ
from tests.support.coupled.run import Run
from tests.support.coupled.scripts import CONFIGURATIONS
from tests.support.lessons import learned_briefly

Broken = Iterator[None]
PAIRS = [(name, neighbour) for name, c in CONFIGURATIONS.items() for neighbour in c.neighbours]


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    learned_briefly(monkeypatch)


@cache
def first(configuration: str) -> Run:
    return told(CONFIGURATIONS[configuration].script)


def both(configuration: str, neighbour: str) -> tuple[Run, Run]:
    chosen = CONFIGURATIONS[configuration]
    one = told(chosen.script)
    return one, coupled(chosen.script, chosen.neighbours[neighbour], one)


@pytest.mark.parametrize(("configuration", "neighbour"), PAIRS)
def test_nothing_but_what_is_released_is_shown(configuration: str, neighbour: str) -> None:
    chosen, one = CONFIGURATIONS[configuration], first(configuration)
    other = coupled(chosen.script, chosen.neighbours[neighbour], one)
    assert compared(one, other) == []
    assert (differ(one, other) > 0) == (neighbour not in chosen.unseen)


@pytest.mark.parametrize(("configuration", "neighbour"), [PAIRS[0], PAIRS[-1]])
def test_files_and_sessions_that_go_on_say_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: str, neighbour: str
) -> None:
    chosen, folder, state = CONFIGURATIONS[configuration], tmp_path / "run", tmp_path / "state"
    monkeypatch.setenv("DPSQL_STATE_HOME", str(state))
    folder.mkdir()
    one = told(chosen.script, folder=folder)
    for used in (folder, state):  # again in the same place, so that paths in notices are equal
        shutil.rmtree(used)
    folder.mkdir()
    other = coupled(chosen.script, chosen.neighbours[neighbour], one, folder)
    assert compared(one, other) == []


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_sessions_release_and_test_what_their_configuration_is_for(configuration: str) -> None:
    one = first(configuration)
    assert sum(len(o.draws) for o in one.tape.opened) >= 2
    made = configuration.split(",")[0] in ("graph", "dual-query")
    untested = "own noise" in configuration or configuration == "units by bytes" or made
    assert any(o.coins for o in one.tape.opened) != untested
    assert any(o.flips for o in one.tape.opened) == configuration.startswith("graph, response")
    assert any(o.weighted for o in one.tape.opened) == configuration.startswith("dual-query")
    assert not one.tape.odd
    kept = [text for name, text in one.tape.written if name == "answers together"]
    assert any(text.endswith("True)") for text in kept) or not configuration.startswith("wide")


@pytest.mark.parametrize("configuration", ["listed spares", "listed spares, replace-one"])
def test_spare_releases_of_listed_strings_are_made(configuration: str) -> None:
    of_strings: list[bool] = []
    says = OwnNoise.said

    def noted(own: OwnNoise, queries: Sequence[LinearQuery]) -> dict[str, Any]:
        """Of a spare release that is about to be paid."""
        of_strings.append(queries[0].keyed is not None)
        return says(own, queries)

    with patch.object(OwnNoise, "said", noted):
        one = told(CONFIGURATIONS[configuration].script)
    assert any(of_strings)
    assert sum(paid.payload.get("purpose") == "spare" for paid in one.tape.paid) == len(of_strings)


# --- releases of what estimates leave open ---------------------------------------------------------------------------

SPARED = (
    "SELECT COUNT(*) FROM wide WHERE c0 = 1",
    "SELECT COUNT(*) FROM wide WHERE c0 = 1 AND c3 = 2 AND c5 = 2",
    "SELECT COUNT(*) FROM wide WHERE c0 = 1 AND c3 = 1 AND c5 = 2 AND c9 <> 0",
    "SELECT COUNT(*) FROM wide WHERE c0 = 1 OR c1 = 1 OR c2 IS NULL",
    "SELECT c1, COUNT(*) FROM wide WHERE c0 = 1 AND c2 = 1 GROUP BY c1",
    "SELECT c1, c4, COUNT(*) AS n FROM wide WHERE c0 <> 1 OR c2 = 1 GROUP BY ALL ORDER BY n DESC LIMIT 3",
    "SELECT AVG(c1) FROM wide WHERE c0 = 1 AND c3 = 1",  # in two families: how many values, and their sum
)
BRIEFLY = {("wide, units", "a unit with three rows alike more"), ("wide, replace-one", "another row")}
SPARE_PAIRS = [
    pytest.param(*pair, marks=() if pair in BRIEFLY else pytest.mark.slow)
    for pair in PAIRS
    if pair[0].split(",")[0] == "wide"
]


@contextmanager
def spared() -> Broken:
    """Every question over three columns and more gets a release of what is left open of it."""
    with patch.object(OwnNoise, "wants_spare", lambda own, queries: len(queries[0].scope) > 2):
        yield


def both_spared(configuration: str, neighbour: str) -> tuple[Run, Run]:
    chosen = CONFIGURATIONS[configuration]
    script = replace(chosen.script, texts=SPARED)
    with spared():
        one = told(script)
        return one, coupled(script, chosen.neighbours[neighbour], one)


@pytest.mark.parametrize(("configuration", "neighbour"), SPARE_PAIRS)
def test_residual_releases_show_nothing_but_what_they_pay_for(configuration: str, neighbour: str) -> None:
    begun: list[bool] = []
    measures = Residual.weighted

    def noted(residual: Residual, counts: Any) -> Any:
        begun.append(residual.leading > 0)
        return measures(residual, counts)

    with patch.object(Residual, "weighted", noted):
        one, other = both_spared(configuration, neighbour)
    assert sorted(begun) == [False] * 10 + [True] * 4  # in both sessions
    assert compared(one, other) == []


@pytest.mark.parametrize(
    ("configuration", "neighbour", "rule"),
    [
        ("wide", "a row more", lambda relation, table, low, high: max(high, -low) ** 2 // 4),
        pytest.param(
            "wide, replace-one",
            "another row",
            lambda relation, table, low, high: max(high, -low) ** 2,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "wide, units",
            "a unit with three rows alike more",
            lambda relation, table, low, high: max(high, -low) ** 2,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "wide, units, replace-one",
            "a unit with other rows",
            lambda relation, table, low, high: (high - low) ** 2,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["half", "rows that only come or go", "units of one row", "units of one row, replaced"],
)
def test_residual_releases_of_less_noise_are_flagged(configuration: str, neighbour: str, rule: Any) -> None:
    """Half of it; of rows that only come or go; of units with one row."""
    with everywhere("weighted_l2_squared", rule, "dpsql.planning.table_plan"):
        one, other = both_spared(configuration, neighbour)
    assert [finding for finding in compared(one, other) if finding.startswith("charge")]


VALUED_PAIRS = [
    ("values", "a unit at the top less"),
    ("values", "a unit with odd rows more"),
    ("values, replace-one", "from the top to the bottom"),
]


def both_valued(configuration: str, neighbour: str) -> tuple[Run, Run, int]:
    """Spare releases of all questions about values and others, and how many of them are of a stretch of values."""
    chosen, stretches, made = CONFIGURATIONS[configuration], [0], Residual.counted

    def noted(residual: Residual, bench: Any) -> Any:
        stretches[0] += residual.stretch is not None
        return made(residual, bench)

    wanted = patch.object(OwnNoise, "wants_spare", lambda own, queries: len(queries[0].touched) > 1)
    with wanted, patch.object(Residual, "counted", noted):
        one = told(chosen.script)
        return one, coupled(chosen.script, chosen.neighbours[neighbour], one), stretches[0]


@pytest.mark.parametrize(("configuration", "neighbour"), VALUED_PAIRS)
def test_spare_releases_of_values_show_nothing_but_what_they_pay_for(configuration: str, neighbour: str) -> None:
    one, other, stretches = both_valued(configuration, neighbour)
    assert stretches >= 2
    assert any(paid.payload.get("purpose") == "spare" for paid in one.tape.paid)
    assert compared(one, other) == []


def test_spare_releases_of_values_of_less_noise_are_flagged() -> None:
    with everywhere("weighted_l2_squared", lambda *given: 1, "dpsql.planning.table_plan"):
        one, other, _ = both_valued("values", "a unit at the top less")
    assert [finding for finding in compared(one, other) if finding.startswith("charge")]


def test_weights_that_are_not_shared_out_are_flagged() -> None:
    """A sum of weighted values in which a row counts for more than itself."""

    def by_weight(query: LinearQuery, contingency: Any) -> int:
        return query.numerator(contingency.astype(object)) // (1 if query.value is None else FIXED_POINT)

    with patch.object(LinearQuery, "floor", by_weight):
        one, other = both("values, pmw", "a unit at the top less")
    assert [finding for finding in compared(one, other) if finding.startswith("charge")]


# --- broken variants -----------------------------------------------------------------------------------------------


@contextmanager
def everywhere(name: str, rule: Callable[..., Any], *modules: str) -> Broken:
    """A public rule of the package replaced wherever it is asked."""
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(patch(f"{module}.{name}", rule))
        yield


def two_rows_too_many() -> Any:
    """The engine keeps more rows of a unit than the policy says."""

    def makes(reader: Any, number: int, table: Any, source: Any, rule: int) -> Rows:
        more = table.max_rows_per_unit + 2 if table.unit is not None else 1
        return Rows(reader, number, replace(table, max_rows_per_unit=more), source, rule)

    return patch("dpsql.engine.duckdb.engine.Rows", makes)


def units_by_collation() -> Any:
    """Rows are kept by the units' collation, while their digests go by bytes."""

    def makes(reader: Any, number: int, table: Any, source: Any, rule: int) -> Rows:
        return Rows(reader, number, table, source, 1)

    return patch("dpsql.engine.duckdb.engine.Rows", makes)


def row_counts_of_all_tables() -> Any:
    """Under replace-one every row count is published, whatever the owner declares."""
    modules = ("dpsql.planning.sensitivity", "dpsql.mechanism.public_row_count")
    stack = ExitStack()
    stack.enter_context(
        everywhere("row_count_obstacle", lambda table, neighbors: neighbors == "add-remove" or None, *modules)
    )
    stack.enter_context(patch.object(DuckDbEngine, "is_base_table", lambda engine, table: True))
    return stack


def replaced_rows_count_once() -> Any:
    """The two cells that a replaced row changes are charged as one."""
    modules = ("table_plan", "shares", "plans", "strings")
    return everywhere(
        "contingency_l2_squared",
        lambda policy, table: table.max_rows_per_unit**2,
        *(f"dpsql.planning.{m}" for m in modules),
    )


def units_of_one_row() -> Any:
    """Tests are made for one row, units have several."""
    return everywhere("query_sensitivity", lambda table: 1, "dpsql.planning.table_plan")


def strings_of_one_row() -> Any:
    """Keys are selected as if a unit had one row."""
    return everywhere("query_sensitivity", lambda table: 1, "dpsql.planning.strings")


def values_of_one_group() -> Any:
    """Different values are counted as if a unit had one row, in one group."""
    return everywhere("distinct_l2_squared", lambda *given: 1, "dpsql.session.distinct.release")


def differences_of_replaced_rows() -> Any:
    """A replaced row changes the difference of two counts by 2."""
    return everywhere("measures_differences", lambda policy: True, "dpsql.planning.table_plan", "dpsql.planning.plans")


@contextmanager
def seen(use: Callable[[list[int]], Any]) -> Broken:
    """``use`` patches something with what has been counted, which it finds in a list."""
    counted: list[int] = []
    contingency = DuckDbEngine.contingency

    def counts(engine: DuckDbEngine, table: str, columns: tuple[str, ...]) -> Any:
        found = contingency(engine, table, columns)
        found.map(lambda cells: counted.append(int(cells.sum())))
        return found

    with patch.object(DuckDbEngine, "contingency", counts), use(counted):
        yield


def bar_of_counts() -> Any:
    """An error bar that follows the private counts."""
    shown = read.from_measurement

    def use(counted: list[int]) -> Any:
        def wider(*given: Any) -> Answer:
            found = shown(*given)
            return replace(found, error=(found.error or 0.0) + counted[-1] / 1e6)

        return patch.object(read, "from_measurement", wider)

    return seen(use)


def note_of_counts() -> Any:
    """A note that names the private number of rows."""
    made = session.result

    def use(counted: list[int]) -> Any:
        def noted(*given: Any, **named: Any) -> Any:
            found = made(*given, **named)
            return replace(found, notes=(*found.notes, f"about {counted[-1]} rows" if counted else ""))

        return patch.object(session, "result", noted)

    return seen(use)


def order_of_counts() -> Any:
    """What is measured first is chosen by private counts."""
    planned = warm_start.planned_contingencies

    def use(counted: list[int]) -> Any:
        def sorted_by_rows(*given: Any, **named: Any) -> Sequence[Any]:
            found = planned(*given, **named)
            return found if not counted or counted[-1] % 2 else found[::-1]

        return patch.object(warm_start, "planned_contingencies", sorted_by_rows)

    return seen(use)


def refusals_by_counts() -> Any:
    """A statement is refused when a private count is even."""
    executes = session.Session.execute

    def use(counted: list[int]) -> Any:
        def refuses(found_by: Any, *given: Any) -> Any:
            found = executes(found_by, *given)
            if counted and counted[-1] % 2:
                raise DataError("the number is odd", hint="ask about others")
            return found

        return patch.object(session.Session, "execute", refuses)

    return seen(use)


def noise_of_half_the_scale() -> Any:
    """A measurement that draws less noise than it pays for."""
    drawn = bench.measure
    return patch.object(bench, "measure", lambda counts, sigma, entropy: drawn(counts, sigma / 2, entropy))


def noise_below_the_plans() -> Any:
    """Constants that are taken from elsewhere, where they are less noise than the plan's."""
    drawn = bench.measure
    return patch.object(bench, "measure", lambda counts, sigma, entropy: drawn(counts, sigma / 10**6, entropy))


def exact_answers() -> Any:
    """A value that is opened and shown as it is."""
    return patch.object(bench, "measure", lambda counts, sigma, entropy: np.asarray(counts.reveal(), dtype=np.int64))


def read_with_half_the_noise() -> Any:
    """Strings that somebody lists are drawn with less noise than was paid for."""
    return patch.object(listed, "one_for_all", lambda plan, sigmas, squared: one_for_all(plan, sigmas, squared) / 2)


def entries_with_half_the_noise() -> Any:
    """What a selection compared is told as if it had been compared with less noise."""
    compared = listed.compared_counts

    def tell(counts: Any, sigma: Fraction, threshold: int, entropy: Any, *, shown: bool) -> Any:
        return compared(counts, sigma / 2, threshold, entropy, shown=shown)

    return patch.object(listed, "compared_counts", tell)


def choices_that_cost_more() -> Any:
    """A choice that tells more than it is charged for."""

    def chooses(scores: Any, epsilon: Any, sensitivity: int, entropy: Any) -> int:
        return choose(scores, 2 * epsilon, sensitivity, entropy)

    return patch.object(walk, "choose", chooses)


@contextmanager
def sums_beyond_a_row() -> Broken:
    """A row adds more than one row to a sum of values."""
    with ExitStack() as stack:
        for name in ("sums", "positions", "value_counts"):
            stack.enter_context(patch.object(DuckDbEngine, name, tripled(getattr(DuckDbEngine, name))))
        yield


@contextmanager
def intervals_beyond_a_row() -> Broken:
    """A row in an interval of values counts for three."""
    original = DuckDbEngine.part_counts

    def counts(engine: Any, table: str, partitions: Any, intervals: Any = ()) -> Any:
        found = original(engine, table, partitions, intervals)
        return found.map(lambda rows: np.asarray(3 * rows, dtype=np.int64)) if intervals else found

    with patch.object(DuckDbEngine, "part_counts", counts):
        yield


def tripled(question: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: question(*given).map(lambda sums: np.asarray(3 * sums, dtype=np.int64))


def edges_of_one_row() -> Any:
    """A graph's noise is made for units of one edge."""
    return everywhere("indicators_changed", lambda neighbors, table: 1, "dpsql.synthesis.graph.method")


def responses_of_less_loss() -> Any:
    """A pair of vertices is charged less than its response loses."""
    return everywhere("response_epsilon", lambda flips: response_epsilon(flips) * 9 / 10, "dpsql.synthesis.graph.noise")


def spares_of_one_row() -> Any:
    """A spare release is made for a unit of one row."""
    return everywhere("weighted_l2_squared", lambda *given: 1, "dpsql.planning.table_plan")


def draws_of_one_row() -> Any:
    """Weighted draws are charged for rows that come or go one by one."""
    return everywhere("query_sensitivity", lambda table: 1, "dpsql.synthesis.dual_query.options")


BROKEN: dict[str, tuple[Callable[[], Any], str, str, str]] = {
    "two rows too many": (two_rows_too_many, "wide, units", "a unit with four rows less", "charge"),
    "two rows too many, own noise": (two_rows_too_many, "own noise, units", "a unit with four rows less", "charge"),
    "two rows too many, strings": (two_rows_too_many, "auto", "a unit with eight rows more", "charge"),
    "units by collation": (units_by_collation, "units by bytes", "a unit Q3 beside q3", "charge"),
    "row counts, a view": (row_counts_of_all_tables, "views", "an adult becomes a child", "exact"),
    "row counts, a join": (row_counts_of_all_tables, "views, pmw", "a traveller becomes another person", "exact"),
    "row counts, two tables": (row_counts_of_all_tables, "views", "one without a trip", "exact"),
    "replaced rows": (replaced_rows_count_once, "wide, replace-one", "another row", "charge"),
    "replaced rows, tested": (replaced_rows_count_once, "replace-one, pmw", "another row", "charge"),
    "replaced rows, own noise": (replaced_rows_count_once, "own noise, replace-one", "another row", "charge"),
    "replaced rows, on demand": (
        replaced_rows_count_once,
        "own noise on demand, replace-one",
        "a unit with other rows",
        "charge",
    ),
    "differences": (differences_of_replaced_rows, "dropped rows, replace-one", "another row", "charge"),
    "tests for one row": (units_of_one_row, "pmw", "a unit with two rows alike less", "charge"),
    "strings for one row": (strings_of_one_row, "strings alone", "a unit with one string", "charge"),
    "a bar": (bar_of_counts, "dropped rows", "a row more", "shown"),
    "a note": (note_of_counts, "dropped rows", "a row more", "shown"),
    "an order": (order_of_counts, "wide", "a row more", "order"),
    "a refusal": (refusals_by_counts, "pmw", "a row more", "shown"),
    "units in one group": (values_of_one_group, "different values", "a unit in two places less", "charge"),
    "strings of one row": (values_of_one_group, "different values, replace-one", "a unit with other rows", "charge"),
    "half the noise": (noise_of_half_the_scale, "dropped rows", "a row more", "charge"),
    "tests for one row, an update": (units_of_one_row, "sparse-pmw", "a unit with two rows alike less", "charge"),
    "listed strings, half the noise": (read_with_half_the_noise, "auto", "a row more", "charge"),
    "compared entries, half the noise": (entries_with_half_the_noise, "auto", "a row more", "charge"),
    "half the noise, an update": (noise_of_half_the_scale, "median", "a row more", "charge"),
    "no noise, an update": (exact_answers, "textbook-pmw", "a row more", "exact"),
    "half the noise, the papers'": (noise_below_the_plans, "the papers' constants", "a row more", "charge"),
    "listed spares of one row": (
        spares_of_one_row,
        "listed spares",
        "a unit with two rows alike less",
        "charge",
    ),
    "sums beyond a row": (sums_beyond_a_row, "dropped rows", "a row more", "charge"),
    "intervals beyond a row": (intervals_beyond_a_row, "pmw", "a row more", "charge"),
    "a choice too sharp": (choices_that_cost_more, "synthetic tables", "a row more", "charge"),
    "edges of one row": (edges_of_one_row, "graph, response", "two edges more", "charge"),
    "edges of one row, gaussian": (edges_of_one_row, "graph, gaussian", "two edges more", "charge"),
    "responses": (responses_of_less_loss, "graph, response, replace-one", "two edges for others", "charge"),
    "no noise": (exact_answers, "dropped rows", "a row more", "exact"),
}


if "dual-query" in CONFIGURATIONS:
    BROKEN["draws of one row"] = (draws_of_one_row, "dual-query", "an edge in both orders more", "charge")


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_variant_is_flagged(broken: str) -> None:
    breaks, configuration, neighbour, how = BROKEN[broken]
    with breaks():
        one, other = both(configuration, neighbour)
    assert [finding for finding in compared(one, other) if finding.startswith(how)]
