"""The functions an analyst may call, by DuckDB's names. Public.

``scalar_functions.txt`` is a frozen list: scalar functions that DuckDB 1.5 and 2.x both mark CONSISTENT, over numbers,
strings, dates and booleans, without those that see sessions, settings, time zones or the clock.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from types import MappingProxyType

from dpsql.sql.expressions.node_refusals import INSTEAD


def _names(*lines: str) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())


_REWRITTEN = ("coalesce", "fdiv", "fmod", "if", "ifnull", "nullif", "split_part")  # DuckDB's parser or macros make them
SCALAR: frozenset[str] = frozenset(
    files("dpsql.sql.expressions").joinpath("scalar_functions.txt").read_text(encoding="ascii").split()
) | frozenset(_REWRITTEN)

NARROW = frozenset(["chr", "factorial"])
"""Functions of an INTEGER alone: DuckDB makes none of the BIGINT that a column of whole numbers is here."""
STEADY = frozenset(
    [
        "abs",
        "ceil",
        "ceiling",
        "coalesce",
        "cos",
        "exp",
        "floor",
        "greatest",
        "ifnull",
        "least",
        "ln",
        "log10",
        "pow",
        "power",
        "round",
        "sign",
        "sin",
        "sqrt",
        "trunc",
    ]
)
"""Functions that are NULL by which of their arguments are NULL alone: what they cannot compute is an error, or NaN."""

LOWERED: Mapping[str, str] = MappingProxyType(
    {
        "avg": "avg",
        "count": "count",
        "count_if": "count_if",
        "count_star": "count",
        "countif": "count_if",
        "favg": "avg",
        "fsum": "sum",
        "kahan_sum": "sum",
        "mean": "avg",
        "sum": "sum",
        "sumkahan": "sum",
    }
)
"""Aggregates over private rows: each name with the one whose meaning it has in ``counting/aggregates.py``."""
SUMMARIES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("max", "min", "mode", "quantile_cont", "quantile_disc", "var_pop", "var_samp", "sem")}
    | {name: name for name in ("stddev_pop", "stddev_samp", "corr", "covar_pop", "covar_samp", "regr_intercept")}
    | {name: name for name in ("regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy")}
    | {name: name for name in ("skewness", "kurtosis", "kurtosis_pop")}
    | {
        "approx_count_distinct": "distinct",
        "approx_quantile": "quantile_disc",
        "approx_top_k": "approx_top_k",
        "bool_and": "min",
        "bool_or": "max",
        "histogram": "histogram",
        "median": "quantile_cont",
        "percentile_cont": "quantile_cont",
        "percentile_disc": "quantile_disc",
        "quantile": "quantile_disc",
        "stddev": "stddev_samp",
        "variance": "var_samp",
    }
)
"""Aggregates that are functions of several counting questions: each name with the one whose meaning it has."""
REGRESSION = frozenset({"regr_avgx", "regr_avgy", "regr_count"})
ANSWERED = frozenset(LOWERED) | frozenset(SUMMARIES) | REGRESSION
"""Aggregates over private rows that are answered."""
COUNTS = frozenset(name for name, meaning in LOWERED.items() if meaning in ("count", "count_if"))

AGGREGATE = frozenset(LOWERED) | _names(
    "any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_min argmax argmin array_agg",
    "bit_and bit_or bit_xor bitstring_agg bool_and bool_or corr covar_pop covar_samp entropy favg first fsum",
    "group_concat histogram kahan_sum kurtosis kurtosis_pop last list listagg mad max max_by median min min_by mode",
    "product quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope",
    "regr_sxx regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sumkahan",
    "var_pop var_samp variance",
)
"""Every aggregate by name, to tell a refused aggregate from an unknown function."""

RELEASED_AGGREGATE = AGGREGATE
"""Aggregates over released tables; DuckDB computes them."""

WINDOW = _names("cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number")
INTERVAL_LOW, INTERVAL_HIGH = "dp_interval_low", "dp_interval_high"
RELEASED = SCALAR | RELEASED_AGGREGATE | WINDOW
OF_DUCKDB = frozenset({"version"})
"""What tells of DuckDB and of nothing else."""

_CLOCK = _names(
    "now today current_date current_time current_timestamp get_current_time get_current_timestamp localtime",
    "localtimestamp current_localtime current_localtimestamp transaction_timestamp",
)
_RANDOM = _names("random uuid gen_random_uuid uuidv4 uuidv7 setseed nextval currval reservoir_quantile")


def function_refusal(name: str, *, private: bool) -> tuple[str, str]:
    """Reason and hint for a function that is not answered; ``private``: inside a block over a private table."""
    if name in AGGREGATE:
        return aggregate_refusal(name)
    if name in _CLOCK:
        return f"{name}() depends on the clock", "write the date as a literal or pass it as a parameter"
    if name in _RANDOM:
        return f"{name}() is random", "an equal question must get an equal answer; remove it"
    if name in WINDOW:
        return f"{name}() is a window function over private rows", "apply it to grouped counts: it runs on the result"
    if name in (INTERVAL_LOW, INTERVAL_HIGH):
        return f"{name}() needs the alias of an aggregate", "write COUNT(*) AS n, DP_INTERVAL_LOW(n) in one SELECT"
    if name == "position":
        return "position(... IN ...) is not answered", "write strpos(text, part)"
    if name in INSTEAD:
        return f"the function {name} is not answered", INSTEAD[name]
    known = sorted(SCALAR | ANSWERED if private else RELEASED)
    close = [] if name in known else get_close_matches(name, known, 1, cutoff=0.8)
    hint = f"did you mean {close[0]}?" if close else "docs/sql.md lists the functions that are answered"
    return f"the function {name[:60]} is not answered", hint


def aggregate_refusal(name: str) -> tuple[str, str]:
    """Reason and hint for an aggregate that is no linear query of the rows."""
    if name in ("arg_min", "arg_max", "argmin", "argmax", "min_by", "max_by"):
        return f"{name}() shows one person's value", "GROUP BY the first column and take MIN or MAX of the second"
    if name in ("any_value", "arbitrary", "first", "last"):
        return f"{name}() shows one person's value", "write mode(x), the most frequent value, or GROUP BY the column"
    if name == "mad":
        return f"{name}() is not answered on private rows", "write stddev(x), or quantile_cont(x, 0.75) less 0.25"
    if name in LOWERED or name in SUMMARIES or name in REGRESSION:
        return f"{name}() cannot stand here", "use it in SELECT, HAVING, QUALIFY or ORDER BY"
    return f"{name}() is not answered on private rows", "write it with COUNT, SUM and AVG"
