"""Writes docs/sql.md from the fixtures that the tests run: ``python docs/generate_sql.py``."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpsql.sql.expressions.functions import LOWERED, REGRESSION, RELEASED_AGGREGATE, SCALAR, SUMMARIES, WINDOW

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
PAGE = ROOT / "docs" / "sql.md"

HEAD = """\
# SQL that dpsql answers

This page is generated from [the accepted](../tests/golden/accepted.sql) and [the refused](../tests/golden/refused.sql)
statements that the tests run; `python docs/generate_sql.py` writes it anew.

A statement is one `SELECT` in DuckDB's dialect. Each innermost block that reads a private table is answered first and
becomes a *released table*: its `GROUP BY` columns and its aggregates. Everything around the blocks (`HAVING`,
`ORDER BY`, `LIMIT`, windows, CTEs, unions, joins with public tables) is run by DuckDB on released and public tables.

* **Aggregates over private rows** are sums (`COUNT`, `COUNT_IF`, `SUM`, `AVG`) and functions of several counting
  questions (below), with `FILTER`, and arithmetic between them. A `SUM` over no row is 0, not NULL: whether there is a
  row is private. A sum of fractions is computed in steps of 2<sup>-24</sup> of the largest value. An average, and all
  that is no sum, is NULL over a group whose count is within its error, for there may be no row in it: a note says in
  how many groups.
* **`MIN`, `MAX`, medians, quantiles, `mode` and `COUNT(DISTINCT x)`** are read from the counts of the values that `x`
  can have, which are asked like those of a `GROUP BY x`. `MAX` is the last value that surely has rows, or where a
  model answers probably, and none below the median; its interval begins at the last one that surely has some, all
  values tested together, and, since a few rows behind it cannot be seen, goes on to the last declared value that
  the condition leaves: a note says how many rows may be there. Of a quantile the interval is from the first to the
  last value at which the counts below and above allow it. `COUNT(DISTINCT x)`, and of declared columns
  `COUNT(DISTINCT (x, y))`, is at least the number of values that surely have rows, and of strings no more than
  conditions list; `SUM(DISTINCT x)` adds these up, and those that are likely to have some. Of a text column `MIN`,
  `MAX` and `mode` see the released keys alone, but `COUNT(DISTINCT x)` counts all strings. Dates and strings have
  no error bar: a note says between which they are. Columns with more than 1,024 values, and bins, are counted in
  cells; the interval then covers whole cells, and that of `mode` all cells with rows: the fullest one may hold many
  values, another one a value that has more rows.
* **`COUNT(DISTINCT x)` of the privacy unit, or of a text column**, under conditions that cut no bin and for groups,
  is a measurement of its own, with noise for what one unit changes: 1 in each group for the unit itself. Its charge
  is shown by `explain`; the groups of one aggregate share it, and an equal question is free. A unit counts where one
  of the `max_rows_per_unit` rows that are kept of it does. The unit's own values are never shown, compared or grouped
  by.
* **`histogram(x)` and `approx_top_k(x, k)`** are the counts of a `GROUP BY x` in one value: a map of those above 0, and
  the values that have the largest ones. A note says how far off any of these counts may be.
* **Variances, standard deviations, covariances, `CORR`, `REGR_...`, `skewness` and `kurtosis`** are functions of
  `COUNT`, `SUM(x)`, `SUM(x * x)`, `SUM(x * y)` and higher powers; their intervals hold at all ends of the bars of these
  together, and of those of distances from the means.
* **`GROUP BY`** lists every group that the declared domains make possible, zeros included, in domain order, NULL last;
  groups that `WHERE` excludes for every possible row are not listed. So `DISTINCT` and the number of groups say nothing
  about the data: they are public and free.
* **`ROLLUP`, `CUBE` and `GROUPING SETS`** are a `GROUP BY` for each level, with `GROUPING()`: totals are asked, so
  their bars are their own, and they may differ from the sums of their parts. `ORDER BY` and `LIMIT` are of all levels
  together; `DISTINCT` and windows go around them, in a `SELECT` from a subquery.
* **Conditions** may use any expression below over declared columns, with DuckDB's semantics. Conditions joined by `AND`
  that share no column are evaluated apart; columns that one condition ties together must span at most 2^24 cells.
* **Spellings of other dialects** mean what DuckDB makes of them: names between back-ticks, `SUBSTRING(x FROM 1 FOR 2)`,
  `TRIM(BOTH 'x' FROM y)`, `POSITION('x' IN y)`, `(a, b) IN ((1, 2), (3, 4))` (NULL equals NULL there), `= ANY ([...])`,
  `list_contains([...], x)`, `FETCH FIRST 5 ROWS ONLY`. `date_diff` of two columns by years, quarters or months is the
  difference of these parts of each; days between two columns are summed and averaged as those of each.
* **Numbers and dates** are compared as DuckDB compares them, numbers after clipping to [min, max]. A condition that
  cuts bins of a number column is counted by values where 32 stretches of them or fewer say it (four in ledgers of few
  planned questions or that refuse, and fewer in statements of many groups). One that takes more,
  ties two such columns together, or cuts a unit of a date column by week, month, quarter or year, gets an
  estimate whose error covers every place in the bin where its rows may stand, with a note that names the bins;
  `explain` names them at no cost. Of an expression that rises or falls along each column (`x > y`, `x * y > 100`),
  and of what is made of such (`x = y`, `x BETWEEN y AND 2 * y`, `abs(x - y) < 5`, `AND`, `OR`), these are the bins
  where it changes; where nothing is known of that (`sin(x) > y`) it may be every bin. `GROUP BY` takes conditions on
  such columns, and steps of one, as in `floor(hours / 10) * 10` or `date_trunc('month', joined)`: its own values are no
  list.
* **Cuts of a graph** are two conditions, each on one vertex column of an edge table, joined by `AND`. They are answered
  from their two lists, whatever the number of pairs ([graphs](../examples/facebook/README.md)): 2^40 pairs by
  `frieze-kannan`, any by `auto`, 2^24 by others.
* **`UNION ALL` of rows** of one private table may be counted, summed and averaged; a row on two sides counts twice. Its
  sides have the same types; `GROUP BY` takes a column that is the same on all sides, and lists its groups whatever the
  sides leave out.
* **`PIVOT`** is a `GROUP BY` with one aggregate for each value, each with its own bar; `UNPIVOT` is a `UNION ALL`. The
  values are those of `IN`, or those that `SELECT DISTINCT` on the same source lists: declared ones, released keys, or
  the groups of a block inside. Without `GROUP BY` it groups by every other column of the source. At most 256 columns.
* **`UNION`, `INTERSECT` and `EXCEPT`** of columns of a private table compare, like `DISTINCT`, the values that are
  possible: no row is counted, and a note says so.
* **`range`, `generate_series` and `unnest`** of constants are public tables, to join counts with.
* **Lists and structs** of released numbers (`[COUNT(*), SUM(x)]`, `{'n': COUNT(*)}`, `quantile_disc(x, [0.25, 0.75])`)
  are shown without bars: a number by itself has one.
* **Correlated subqueries** over public tables, `(SELECT max(name) FROM codes WHERE codes.code = t.code)`, `EXISTS` and
  `IN`, are functions of the private columns that they name: DuckDB computes them for every declared value, at most
  10,000 combinations, so a value that finds two rows is refused whether or not a row has it. Of a text column, `EXISTS`
  with one equality is answered. A column made so of the columns of `GROUP BY` need not stand there itself.
* **Joins with public tables** (`JOIN`, `LEFT JOIN`, `USING`, `NATURAL`, commas, chains of tables, subqueries and CTEs
  of public tables): what a row finds is a function of its declared values, so the other table's columns may stand
  wherever an expression may, each group one question. A row that finds several rows counts several times, at most 32,
  and may then be grouped by the private table's columns alone. Columns of ON that the private table has are finite,
  without bins, and have at most 10,000 combinations. `public LEFT JOIN private` takes `COUNT` and sums of private
  columns by public ones.
* **`current_date`, `today()`, `now()`** and others of their kind, and `age(x)`, stand for one moment of the statement,
  in UTC, which a note names; the question is the one about that literal.
* **Rows of each unit**: what stands around `SELECT customer, COUNT(*) AS n FROM sales GROUP BY customer`, such as
  `GROUP BY n` or `AVG(n)`, and `HAVING COUNT(*) > 5` in it, is answered from one release: how many units have 1, 2, ..
  rows, up to `max_rows_per_unit`, for each value of other columns in that `GROUP BY`, if there are any. Of a unit
  nothing else is answered: no sum, and never the unit itself.
* **Joins of two private tables** are answered where the owner has declared a view of both with `joins = ["a", "b"]`:
  `a JOIN b USING (unit)`, `ON a.unit = b.unit`, or a comma with this in `WHERE`, means the view.
* **Statements in steps**: a subquery of a condition, or of FROM beside the private table, may read private tables
  itself, as in `WHERE score > (SELECT AVG(score) FROM students)`. It is answered first and charged like a statement of
  its own; what is around it is then a question about released values, whose bars do not count how far these may be
  off. A note says what was taken. Such statements take neither `within` nor `max_charge`; `explain` shows the first
  step.
* **Sums of numbers**: `SUM` and `AVG` of a straight line of a number column (`x`, `2 * x + 1`) sum the values
  themselves. Of values that conditions choose (`CASE WHEN p THEN x END`, `if`, `nullif`, `coalesce`), in a subquery,
  too, every aggregate is that of each value where it is chosen: `AVG(CASE WHEN p THEN x END)` is
  `AVG(x) FILTER (WHERE p)`.
* **Text columns** have no declared list of values. Where the strings that the statement lists settle the answer (`=`,
  `<>`, `IN`, `NOT IN`, `IS NULL` and their combinations, what stands beside them with `AND`, and `CASE` and `if` whose
  conditions are such), all rows are counted: `CASE WHEN x IN ('a', 'b') THEN x ELSE 'other' END` has all others.
* **Other expressions of text** (`LIKE '%x%'`, regular expressions, `upper`, `length`, `name > 'm'`), as conditions,
  groups or numbers, are evaluated on the *released keys*, see below, and on NULL. Rows with other strings count for
  nothing in them, neither with `LIKE` nor with `NOT LIKE`. A note says about how many these are, and error bars reach
  as far as they may count: upwards for counts, both ways for averages. None of these numbers is certified, and no
  bound is known of medians, values that depend on the string, units by their strings, and what no released string
  matches (`0 ± ?`).
* **Prefixes** of the lengths that the policy declares can be listed like strings: `LIKE 'ab%'`, `starts_with`, `^@`,
  `left(name, 2)` and `substr(name, 1, 2)` compared with strings. A length counts code points, as DuckDB's `left` does.
  Lengths, strings and NULL may be mixed in one condition: it becomes a sum and difference of counts by keys.
* **`GROUP BY` a text column**, or its prefix of a declared length, lists the strings that `WHERE` leaves when it
  settles them (`name IN ('a', 'b')`). Otherwise it lists the *released keys*: strings whose noisy count was high
  enough when the column was first asked for. Rows with other strings are in no group, so the groups may not add up to
  the total. `WHERE` and `FILTER` may then use any expression of the column, as it is evaluated on the released keys
  alone. Strategies that release no keys refuse such a statement, and so, before any charge, does a column whose owner
  says that its strings have too few rows to be shown (`max_rows_per_value`): lists of them are answered.
* **The catalog** is the policy's: `SHOW TABLES`, `DESCRIBE table`, `PRAGMA table_info`, `information_schema.tables`,
  `.columns` and `.schemata`, `duckdb_tables()`, `duckdb_columns()` and their kin show what is declared, and NULL for
  any number of rows. `SUMMARIZE table` shows declared ranges. `DESCRIBE SELECT ...` shows types, `EXPLAIN SELECT ...`
  the plan of `con.explain`. Tables stand in `memory.main`.
* **`CREATE VIEW name AS SELECT ...`**, and `CREATE [TEMP] TABLE name AS`, name a query for the session, `DROP` gives
  the name up. It may be a block of numbers, which keep their bars, or private rows, which are counted where the name is
  read. Nothing is asked or charged before. Parameters are bound when the name is given.
* **`BEGIN`, `COMMIT`, `ROLLBACK`, `SET`, `RESET` and `USE`** do nothing, and a note says so.
* **Parameters** are `?`, `$1` or `$name`; `column IN ?` takes a list. They are bound as values, never as text.
* **Computed numbers** (percentages, shares by windows, sums over CTEs, differences) carry an error and an interval like
  counts ([accuracy](accuracy.md#numbers-that-sql-computes)).
* **`DP_INTERVAL_LOW(n)`** and **`DP_INTERVAL_HIGH(n)`** give the 95 % interval of the number with the alias `n`. Of an
  aggregate of the same SELECT they may stand anywhere; of a computed number they are columns of the outermost SELECT,
  which nothing else in the statement reads. They are known once `n` is, and have no bar.
* **Strings are compared byte by byte**, and the values of a category column are strings, whatever the database holds:
  `<`, `BETWEEN`, `MIN`, `MAX` and `ORDER BY` know no ENUM's order, and `'10' < '9'` where codes are declared as a
  category. Where the policy lists them in another order a note says so beside `<`, `BETWEEN`, `MIN` and `MAX`. Write
  `code::INT > 5`, or declare numbers as integers.
* **Notes** (`cursor.notes`, the foot of a table, standard error beside other formats) say which rows the numbers do
  not speak of: rows of a unit beyond the cap, rows left out, values that are not declared. A literal that is not
  declared is no error: the answer is true of the declared values, and the note says what may have been meant.
* **Free**: statements that ask nothing of private rows, such as `SELECT 1`, `LIMIT 0` and `WHERE FALSE`, and questions
  that were answered before. Every refusal is free.

Limits: 64 KiB of text, nesting 64, 10,000 items in a list, 100,000 groups in a block, 2^24 cells in a scope
(more for counts, sums and averages under conditions on single columns, which need no grid: there 2^20 combinations that
the conditions tell apart, as those on 20 columns do).

The examples use a private table `people` with the columns `age`, `sex`, `city`, `hours`, `joined`, `member`, `kids`
(all with declared values) and `name`, `pet` (text), a private table `pets` with `species` and `animal_name` (text,
`prefixes = [1, 2]`), and a public table `cities`. Keys of `name` and `animal_name` have been released.
"""


@dataclass(frozen=True)
class Case:
    """One statement of a fixture and the comment below it."""

    section: str
    sql: str
    expected: str


def cases(name: str) -> Iterator[Case]:
    """The cases of a fixture file: a section is ``-- ## Title``; a statement ends with ``;``, its comment follows."""
    section, lines = "", list[str]()
    for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("-- ## "):
            section = line[6:]
        elif line.startswith("-- ") and lines and lines[-1].endswith(";"):
            yield Case(section, "\n".join(lines)[:-1], line[3:])
            lines = []
        elif line or lines:
            lines.append(line)
    if lines:
        raise ValueError(f"{name}: no comment below {lines[0]}")


def page() -> str:
    """The text of docs/sql.md."""
    out = [HEAD, "## Accepted", ""]
    section = ""
    for case in cases("accepted.sql"):
        if case.section != section:
            if section:
                out += ["```", ""]
            section = case.section
            out += [f"### {section}", "", "```sql"]
        out.append(case.sql + ";")
    out += ["```", "", "## Refused", ""]
    section = ""
    for case in cases("refused.sql"):
        if case.section != section:
            section = case.section
            out += ["", f"### {section}", "", "| statement | why | instead |", "|---|---|---|"]
        why, _, hint = case.expected.partition(" | ")
        why = re.sub(r"^\w+: (line \d+, column \d+: )?", "", why)
        out.append(f"| `{_cell(case.sql)}` | {_cell(why)} | {_cell(hint)} |")
    out += ["", "## Functions", ""]
    for title, names in (
        ("Aggregates over private rows", {*LOWERED, *SUMMARIES, *REGRESSION}),
        ("Scalar functions", SCALAR),
        ("Aggregates over released numbers", RELEASED_AGGREGATE),
        ("Window functions over released numbers", WINDOW),
    ):
        listed = ", ".join(f"`{n}`" for n in sorted(names))
        out += [f"**{title}**:", *textwrap.wrap(listed, 118, break_long_words=False, break_on_hyphens=False), ""]
    return "\n".join(out).rstrip() + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
