"""Every allowed function in at least one template, by the kind of its result.

``<i>`` stands for an integer expression, ``<d>`` a float, ``<s>`` a string, ``<t>`` a date, ``<m>`` a timestamp,
``<v>`` an interval, ``<b>`` a truth value; ``<k>`` for a small integer in digits, ``<u>`` a date part, ``<w>`` a string
in quotes, ``<c>`` a type of a cast.
"""

import re
from collections.abc import Mapping

SCALARS: Mapping[str, tuple[str, ...]] = {
    "i": (
        "abs(<i>)", "sign(<i>)", "bit_count(<i>)", "ascii(<s>)", "ord(<s>)", "unicode(<s>)", "bit_length(<s>)",
        "octet_length(<s>::BLOB)", "strlen(<s>)", "length(<s>)", "len(<s>)", "char_length(<s>)",
        "character_length(<s>)", "length_grapheme(<s>)", "instr(<s>, <w>)", "strpos(<s>, <w>)",
        "hamming(<s>, <s>)", "mismatches(<s>, <s>)", "levenshtein(<s>, <s>)",
        "century(<t>)", "day(<t>)", "dayofmonth(<t>)", "dayofweek(<t>)", "dayofyear(<t>)", "decade(<t>)",
        "era(<t>)", "isodow(<t>)", "isoyear(<t>)", "month(<t>)", "millennium(<t>)", "quarter(<t>)", "week(<t>)",
        "weekday(<t>)", "weekofyear(<t>)", "year(<t>)", "yearweek(<t>)", "hour(<m>)", "minute(<m>)", "second(<m>)",
        "millisecond(<m>)", "microsecond(<m>)", "nanosecond(<m>)", "epoch_ms(<m>)", "epoch_us(<m>)",
        "date_part(<u>, <t>)", "datepart(<u>, <m>)", "date_diff(<u>, <t>, <t>)", "datediff(<u>, <t>, <t>)",
        "date_sub(<u>, <m>, <m>)", "datesub(<u>, <m>, <m>)", "EXTRACT(year FROM <t>)", "gcd(<i>, <i>)",
        "greatest_common_divisor(<i>, <k>)", "lcm(<i>, <k>)", "least_common_multiple(<i>, <i>)", "factorial(<k>)",
        "mod(<i>, <k>)", "xor(<i>, <i>)", "greatest(<i>, <i>)", "least(<i>, <i>, <k>)", "coalesce(<i>, <k>)",
        "if(<b>, <i>, <i>)", "ifnull(<i>, <k>)", "nullif(<i>, <k>)", "<i> + <i>", "<i> - <i>", "<i> * <k>",
        "<i> // <k>", "<i> % <k>", "-<i>", "(<i>)", "CASE WHEN <b> THEN <i> ELSE <i> END",
        "CASE <i> WHEN <k> THEN <k> END",
        "<d>::INTEGER", "CAST(<b> AS INTEGER)", "TRY_CAST(<s> AS BIGINT)", "CAST(<d> AS <c>)",
    ),
    "d": (
        "acos(<d>)", "acosh(<d>)", "asin(<d>)", "asinh(<d>)", "atan(<d>)", "atan2(<d>, <d>)", "atanh(<d>)",
        "cbrt(<d>)", "ceil(<d>)", "ceiling(<d>)", "cos(<d>)", "cosh(<d>)", "cot(<d>)", "degrees(<d>)", "even(<d>)",
        "exp(<d>)", "fdiv(<i>, <k>)", "floor(<d>)", "fmod(<d>, <k>)", "ln(<d>)", "log(<d>)", "log10(<d>)", "log2(<d>)",
        "pi()", "pow(<d>, <k>)", "power(<i>, <k>)", "radians(<d>)", "round(<d>, <k>)", "round(<d>)", "sin(<d>)",
        "sinh(<d>)", "sqrt(<d>)", "tan(<d>)", "tanh(<d>)", "trunc(<d>)", "jaccard(<w>, <w>)",
        "jaro_similarity(<s>, <s>)", "jaro_winkler_similarity(<s>, <s>)", "epoch(<m>)", "abs(<d>)", "sign(<d>)",
        "<i> / <k>", "<d> * 0.5", "<d> + <i>", "<i>::DOUBLE", "CAST(<i> AS FLOAT)", "coalesce(<d>, 0.0)",
        "CASE WHEN <b> THEN <d> ELSE 0.25 END", "greatest(<d>, <d>)", "<d> ** 2", "TRY_CAST(<s> AS DOUBLE)",
    ),
    "s": (
        "chr(<k> + 64)", "concat(<s>, <w>, <i>)", "concat_ws('-', <s>, <s>)", "dayname(<t>)", "monthname(<t>)",
        "format('{:5d}', <i>)", "format('{}{}', <s>, <s>)", "printf('%05.1f', <d>)", "printf('%s', <s>)", "lcase(<s>)",
        "left(<s>, <k>)", "left_grapheme(<s>, <k>)", "lower(<s>)", "lpad(<s>, 7, 'x')", "ltrim(<s>)",
        "ltrim(<s>, 'M')", "md5(<s>)", "nfc_normalize(<s>)", "regexp_escape(<s>)",
        "regexp_extract(<s>, '[A-Z]')", "regexp_extract(<s>, '(.)(.)', 2)", "regexp_replace(<s>, '[aeiou]', 'x')",
        "regexp_replace(<s>, '[aeiou]', 'x', 'g')", "replace(<s>, 'a', 'bb')", "reverse(<s>)", "right(<s>, <k>)",
        "right_grapheme(<s>, <k>)", "rpad(<s>, 9, <w>)", "rtrim(<s>)", "split_part(<s>, 'a', 1)",
        "strftime(<t>, '%Y-%m')", "strip_accents(<s>)", "substr(<s>, <k>)", "substring(<s>, 1, <k>)",
        "substring_grapheme(<s>, 1, <k>)", "to_base(abs(<i>), 2)",
        "translate(<s>, 'ae', 'xy')", "trim(<s>)", "ucase(<s>)", "upper(<s>)", "<s> || <s>", "<i>::VARCHAR",
        "CAST(<t> AS VARCHAR)", "coalesce(<s>, 'none')", "nullif(<s>, <w>)", "if(<b>, <s>, <w>)",
        "CASE WHEN <b> THEN <s> END", "make_time(<k>, 0, 0)::VARCHAR", "greatest(<s>, <w>)",
    ),
    "b": (
        "age(<m>, <m>) > INTERVAL 1 YEAR",
        "contains(<s>, <w>)", "ends_with(<s>, <w>)", "suffix(<s>, <w>)", "prefix(<s>, <w>)", "starts_with(<s>, <w>)",
        "isfinite(<d>)", "isinf(<d>)", "isnan(<d>)", "signbit(<d>)", "regexp_full_match(<s>, '[A-Z].*')",
        "regexp_matches(<s>, 'a.e')", "<s> ~ 'M.*'", "<s> LIKE '%a_e'", "<s> NOT LIKE 'F%'", "<s> ILIKE 'm%'",
        "<s> ^@ 'M'", "<i> = <i>", "<i> <> <k>", "<i> < <i>", "<i> >= <k>", "<d> > <d>", "<d> <= 1.5", "<s> = <w>",
        "<s> <> <s>", "<s> < <w>", "<t> >= <t>", "<t> < DATE '2020-02-01'", "<i> BETWEEN <k> AND <i>",
        "<i> NOT BETWEEN <k> AND <k>", "<i> IN (<k>, <k>, <i>)", "<s> NOT IN (<w>, <w>)", "<s> IN (<w>, NULL)",
        "<i> IS NULL", "<s> IS NOT NULL", "<b> IS TRUE", "<b> IS NOT FALSE", "<i> IS DISTINCT FROM <i>",
        "<b> IS NOT DISTINCT FROM <b>", "NOT <b>", "(<b> AND <b>)", "(<b> OR <b>)", "NOT (<b> OR <b>)",
        "CASE WHEN <b> THEN <b> ELSE <b> END", "coalesce(<b>, FALSE)", "CAST(<i> AS BOOLEAN)", "xor(<b>::INT, 1) = 1",
        "<m> > TIMESTAMP '2020-01-15 12:00:00'", "<t> + <v> > <t>", "(<b>) = (<b>)",
    ),
    "t": (
        "last_day(<t>)", "make_date(2020, <k> + 1, 1)", "date_trunc(<u>, <t>)::DATE", "datetrunc(<u>, <t>)::DATE",
        "strptime('2020-01-15', '%Y-%m-%d')::DATE", "try_strptime(<s>, '%Y')::DATE",
        "time_bucket(INTERVAL 1 MONTH, <t>)::DATE", "<t> + <k>", "(<t> + <v>)::DATE", "<t> - <k>", "<m>::DATE",
        "coalesce(<t>, DATE '2020-01-01')", "if(<b>, <t>, NULL)", "greatest(<t>, DATE '2020-01-10')",
    ),
    "m": (
        "make_timestamp(2020, 1, <k> + 1, <k>, 0, 0)", "<t>::TIMESTAMP", "date_trunc('hour', <m>)", "<m> + <v>",
        "TIMESTAMP '2020-01-15 10:30:00'", "<t> + <v>",
    ),
    "v": (
        "to_centuries(<k>)", "to_days(<k>)", "to_decades(<k>)", "to_hours(<i>)", "to_microseconds(<k>)",
        "to_millennia(0)", "to_milliseconds(<k>)", "to_minutes(<i>)", "to_months(<k>)", "to_quarters(<k>)",
        "to_seconds(<i>)", "to_weeks(<k>)", "to_years(<k>)", "INTERVAL <k> DAY", "INTERVAL 1 MONTH",
    ),
}  # fmt: skip

ODD = (
    "<t>::TIMESTAMP", "<m>::TIME", "<v>", "<i>::HUGEINT", "<i>::UTINYINT", "<i>::DECIMAL(18, 3)", "<d>::DECIMAL(38, 9)",
    "<s>::BLOB", "make_time(<k>, 0, 0)",
    "DATE 'infinity'", "TIMESTAMP '-infinity'", "<t> + to_millennia(<k>)", "<t> - to_millennia(9)", "md5(<s>)::UUID",
    "[<i>, <k>]", "'nan'::DOUBLE", "<d> * 1e308 * 10", "-1e308 * <d> * 1e10", "9223372036854775807 + <i>",
    "170141183460469231731687303715884105727 - <i>", "<i> // (<i> - <i>)", "factorial(30 + <k>)", "<i>::BIT",
    "<m>::TIMESTAMPTZ",
    "TIMESTAMPTZ '2020-01-01 00:00:00+05'", "<v> * 3", "<t> - <t>", "<m> - <m>", "chr(1114111)", "chr(0)", "chr(-<k>)",
    "CAST(<s> AS DATE)", "<i>::UBIGINT", "to_base(<i>, 36)", "1e-320 * <d>",
    "make_date(20000 + <k>, 1, 1)", "make_date(<k> - 5000, 1, 1)", "DATE '5881580-07-10'", "DATE '4000-01-01 (BC)'",
)  # fmt: skip
"""Values that few look at: types without a Python form, ends of ranges, failures."""
HEAVY = (
    "levenshtein(lpad(<s>, 10000, 'a'), lpad(<s>, 10000, 'b'))",
    "jaccard(lpad(<s>, 10000, 'ab'), rpad(<s>, 9999, <w>))",
    "jaro_winkler_similarity(lpad(<s>, 10000, 'ab'), rpad(<s>, 9999, 'ba'))",
    "hamming(lpad(<s>, 9999, 'x'), lpad(<s>, 9999, 'y'))",
    "length(replace(lpad(<s>, 10000, 'a'), 'a', 'bbbbbbbbbbbbbbbb'))",
    "md5(lpad(<s>, 10000, 'x') || rpad(<s>, 10000, 'y'))",
    "regexp_matches(lpad(<s>, 10000, 'a'), '(a*)*(a*)*b')",
    "regexp_replace(lpad(<s>, 10000, 'a'), '(a|aa)+', 'x', 'g')",
    "length(format('{:9999d}', <i>))", "length(printf('%9999d', <i>))", "strip_accents(lpad(<s>, 10000, 'é'))",
    "reverse(concat(lpad(<s>, 10000, 'a'), lpad(<s>, 10000, 'b'), lpad(<s>, 10000, 'c')))",
    "nfc_normalize(lpad(<s>, 10000, 'e'))",
    "lpad(<s>, 10000, 'a') LIKE '%a%a%a%a%a%a%a%b'", "translate(rpad(<s>, 10000, 'a'), 'abc', 'xyz')",
    "to_base(abs(<i>), 2, 64)", "length_grapheme(lpad(<s>, 10000, 'ü'))", "strpos(lpad(<s>, 10000, 'a'), 'aaaaaaab')",
    "split_part(lpad(<s>, 10000, ','), ',', 9999)", "factorial(33)",
    "substring_grapheme(lpad(<s>, 10000, 'x'), 5000, 9)",
)  # fmt: skip
"""The largest work that the limits of single functions admit."""

OVER_RELEASED = (
    "avg(<n>)", "count(<n>)", "count_if(<n> > 3)", "countif(<n> > 5)", "bit_and(<n>)", "bit_or(<n>)", "bit_xor(<n>)",
    "bool_and(<n> > 3)", "bool_or(<n> > 9)", "corr(<n>, <n>)", "covar_pop(<n>, <n>)", "covar_samp(<n>, <n>)",
    "entropy(<n>)", "favg(<n>)", "fsum(<n>)", "kahan_sum(<n>)", "kurtosis(<n>)", "kurtosis_pop(<n>)", "mad(<n>)",
    "max(<n>)", "mean(<n>)", "median(<n>)", "min(<n>)", "product(<n> % 3 + 1)", "quantile(<n>, 0.5)",
    "quantile_cont(<n>, 0.25)", "quantile_disc(<n>, 0.75)", "regr_avgx(<n>, <n>)", "regr_avgy(<n>, <n>)",
    "regr_count(<n>, <n>)", "regr_intercept(<n>, <n>)", "regr_r2(<n>, <n>)", "regr_slope(<n>, <n>)",
    "regr_sxx(<n>, <n>)", "regr_sxy(<n>, <n>)", "regr_syy(<n>, <n>)", "sem(<n>)", "skewness(<n>)", "stddev(<n>)",
    "stddev_pop(<n>)", "stddev_samp(<n>)", "sum(<n>)", "sumkahan(<n>)", "var_pop(<n>)", "var_samp(<n>)",
    "variance(<n>)", "percentile_cont(0.5) WITHIN GROUP (ORDER BY <n>)", "sum(DISTINCT <n>)", "count(DISTINCT <n>)",
    "max(<n>) - min(<n>)", "count(*) FILTER (WHERE <n> > 2)", "count_star()",
)  # fmt: skip
"""Aggregates over a released table, over numbers ``<n>``."""
UNORDERED = (
    "any_value(<n>)", "approx_count_distinct(<n>)", "approx_quantile(<n>, 0.5)", "approx_top_k(<n>, 2)",
    "arbitrary(<n>)", "arg_max(<n>, <n>)", "arg_min(<n>, <n>)", "argmax(<n>, <n>)", "argmin(<n>, <n>)",
    "array_agg(<n>)", "bitstring_agg(<n> % 5, 0, 10)", "first(<n>)", "group_concat(<n>::VARCHAR, ',')",
    "histogram(<n>)", "last(<n>)", "list(<n>)", "listagg(<n>::VARCHAR, '-')", "max_by(<n>, <n>)", "min_by(<n>, <n>)",
    "mode(<n>)", "string_agg(<n>::VARCHAR, ',')",
)  # fmt: skip
"""The same whose value depends on the order of rows, or is approximate: run, and not compared."""
WINDOWS = (
    "cume_dist() OVER (ORDER BY <n>)", "dense_rank() OVER (ORDER BY <n>)", "rank() OVER (ORDER BY <n> DESC)",
    "percent_rank() OVER (ORDER BY <n>)", "sum(<n>) OVER ()", "avg(<n>) OVER ()", "count(*) OVER ()",
    "max(<n>) OVER ()", "100.0 * <n> / sum(<n>) OVER ()", "sum(<n>) OVER (PARTITION BY <n> > 9)",
)  # fmt: skip
UNORDERED_WINDOWS = (
    "first_value(<n>) OVER (ORDER BY <n>)", "last_value(<n>) OVER (ORDER BY <n>)", "lag(<n>) OVER (ORDER BY <n>)",
    "lead(<n>, 2) OVER (ORDER BY <n>)", "nth_value(<n>, 2) OVER (ORDER BY <n>)", "ntile(3) OVER (ORDER BY <n>)",
    "row_number() OVER (ORDER BY <n>)", "sum(<n>) OVER (ORDER BY <n> ROWS 1 PRECEDING)",
)  # fmt: skip

_NAME = re.compile(r"([a-z_0-9]+)\(")


def named() -> frozenset[str]:
    """Every function that a template calls."""
    lists = (*SCALARS.values(), OVER_RELEASED, UNORDERED, WINDOWS, UNORDERED_WINDOWS)
    return frozenset(name for templates in lists for t in templates for name in _NAME.findall(t))
