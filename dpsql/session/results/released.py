"""From released numbers to the statement's result: aggregates, released tables, the outer statement. Public.

Everything after the answers is post-processing, and free; that is why it is a function of them and holds no session.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpsql.dialect.types import aggregate_type, type_name
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.postprocess import released_array, released_table, shown_count, shown_values
from dpsql.postprocess.variants import ReleasedColumn
from dpsql.query import DistinctCount, Form, LinearQuery, Term
from dpsql.query.summary import LISTS, Cells, Distinct
from dpsql.result import Answer, CrosstabAnswers, Note, Result, Shown
from dpsql.session.results.computed import NOTHING, Inputs, computed_answers
from dpsql.session.results.other_strings import beside_others, without_bars
from dpsql.session.results.summaries import few_rows_note, summarise
from dpsql.session.results.sums import summed
from dpsql.session.results.unasked import NOTHING_SAID, Unasked
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Aggregate, Block, DirectColumn, Statement

SURELY = 5.0
"""Sds of the noise in a table's rows by which they are more than was released with less than one chance in three
millions: what intervals that are cut there hold to is no less for it."""
Columns = list[Sequence[Answer]]
"""A block's answers: for each aggregate one per group."""


def result(
    statement: Statement,
    answers: Mapping[str, Answer],
    public: PublicSql,
    notes: tuple[Note, ...] = (),
    unasked: Unasked = NOTHING_SAID,
    *,
    rules: ModelRules = NEWEST,
    together: Sequence[Answer] | None = None,
) -> Result:
    """What the analyst sees: ``answers`` by query key, combined and taken through the outer statement.

    ``rules``: the ledger's. By these counts that are shown as they were released are shown as 0 where noise took them
    below; the outer statement computes with what was released. ``together``: in place of ``answers``, those of one
    crosstab.
    """
    unshown = dict(answers)
    if statement.direct is None:
        found = [_answered(block, unshown, unasked, together, rules) for block in statement.blocks]
        notes = (*notes, *dict.fromkeys(note for answered in found for note in answered.notes))
        return _through_outer(statement, [f.columns for f in found], public, notes, unasked, rules)
    (block,) = statement.blocks
    columns, own = _answered(block, unshown, unasked, together, rules)
    notes, within = (*notes, *own), _within(block, columns)
    if rules.cut_counts:
        pairs = zip(block.aggregates, columns, strict=True)
        columns = [_shown(a, found, rules, unasked) for a, found in pairs]
    return replace(_direct(statement.direct, block, columns, notes), within=within)


def _shown(aggregate: Aggregate, answers: Sequence[Answer], rules: ModelRules, unasked: Unasked) -> Sequence[Answer]:
    """An aggregate's answers, one per group, counts and sums of what is never on one side of 0 as they are shown, and
    counts of rows as no more than there may be."""
    most = _most_of(aggregate, unasked) if rules.cut_above else None
    if isinstance(answers, CrosstabAnswers):
        return answers.shown(most)
    if isinstance(aggregate.summary, Distinct):
        return tuple([shown_count(a) for a in answers])
    if aggregate.denominator is not None or aggregate.summary is not None:
        return tuple(answers)
    out = []
    for group, (answer, form) in enumerate(zip(answers, aggregate.numerator, strict=True)):
        sign = 1 if form.is_count else aggregate.sign(group, conditions=rules.signed)
        end = most if form.of_rows is not None else None
        if end is None and most is not None and aggregate.of_rows:  # its bins are cut in several ways, as by x * x > 9
            end = max(most, ceil(answer.value or 0))
        out.append(shown_count(answer, sign, end) if sign else answer)
    return tuple(out)


def _most_of(aggregate: Aggregate, unasked: Unasked) -> int | None:
    """How many rows the table whose rows an aggregate counts has at most."""
    counted = next((form.of_rows for form in aggregate.numerator if form.of_rows is not None), None)
    if counted is None and aggregate.of_rows:
        counted = next((term.query for form in aggregate.numerator for term in form.terms), None)
    found = None if counted is None else unasked.rows_of(counted.table)
    return None if found is None else max(0, ceil(found[0] + SURELY * found[1]))


def _within(block: Block, columns: Columns) -> tuple[bool, ...]:
    """For each group whether there may be no row in it, as far as its counts, averages and summaries tell."""
    if block.group_columns and columns and all(isinstance(found, CrosstabAnswers) for found in columns):
        near = [found.near_zero() for found in columns if isinstance(found, CrosstabAnswers)]
        return tuple(np.logical_and.reduce(near).tolist())
    told = [_doubted(a, found) for a, found in zip(block.aggregates, columns, strict=True)]
    groups = zip(*told, strict=True) if told and block.group_columns else [()] * len(block.groups)
    return tuple([any(d is not None for d in group) and False not in group for group in groups])


def _doubted(aggregate: Aggregate, answers: Sequence[Answer]) -> list[bool | None]:
    """For each group whether its answer may be of no row; ``None`` where an answer does not tell, as a sum's."""
    if aggregate.denominator is not None or (aggregate.summary is not None and _null_of_few(aggregate)):
        return [a.shown is None for a in answers]
    if isinstance(aggregate.summary, Distinct):
        return [_is_near_zero(a) for a in answers]
    if aggregate.summary is not None:
        return [None] * len(answers)
    return [_is_near_zero(a) if f.is_count else None for a, f in zip(answers, aggregate.numerator, strict=True)]


def _null_of_few(aggregate: Aggregate) -> bool:
    """Whether a summary is NULL where there may be no row."""
    kind = aggregate.summary.kind if isinstance(aggregate.summary, Cells) else "distinct"
    return kind not in LISTS and not kind.endswith("distinct")


def _is_near_zero(answer: Answer) -> bool:
    return answer.error is not None and (answer.value or 0) <= answer.error


class _Answered(NamedTuple):
    columns: Columns
    notes: tuple[Note, ...]


def _answered(
    block: Block,
    unshown: dict[str, Answer],
    unasked: Unasked,
    together: Sequence[Answer] | None,
    rules: ModelRules,
) -> _Answered:
    """One answer per group for each aggregate of the block; in ``unshown`` the charges that it shows become 0."""
    if together is not None:
        free = together if isinstance(together, CrosstabAnswers) else [replace(a, charged=0.0) for a in together]
        return _Answered([together, *[free] * (len(block.aggregates) - 1)], ())

    def lookup(query: LinearQuery | DistinctCount) -> Answer:
        answer = unshown[query.digest]
        if answer.charged:  # a charge is shown once, where its number is first used
            unshown[query.digest] = replace(answer, charged=0.0)
        return answer

    out: Columns = []
    notes: list[Note] = []
    few: list[Sequence[bool]] = []
    for aggregate in block.aggregates:
        if aggregate.summary is None:
            out.append(summed(aggregate, lookup, unasked, rules))
            if aggregate.denominator is not None:
                few.append([a.value is None and a.source != "public" for a in out[-1]])
            continue
        whole = pa.types.is_integer(aggregate_type(aggregate.sql_type))
        found = summarise(aggregate.summary, len(block.groups), lookup, unasked, whole=whole)
        out.append(found.answers)
        notes += found.notes
        few.append(found.few)
    if block.units is not None and block.units.matched:  # of units with other strings nothing is known
        out = [without_bars(found) for found in out]
    elif block.matched:
        both = zip(block.aggregates, out, strict=True)
        out = [beside_others(a, found, lookup, unasked.others_of) for a, found in both]
    return _Answered(out, (*notes, *few_rows_note(few)))


def _through_outer(
    statement: Statement,
    blocks: Sequence[Columns],
    public: PublicSql,
    notes: tuple[Note, ...],
    unasked: Unasked,
    rules: ModelRules,
) -> Result:
    """The outer statement over the released tables; answers are lined up with its rows where they can be."""
    tables = {
        b.name: released_table(b.schema, b.groups, columns, intervals=b.needs_intervals)
        for b, columns in zip(statement.blocks, blocks, strict=True)
    }
    table = _signless(public.run(statement.outer_sql or "", tables, statement.public_tables))
    computed = NOTHING
    if statement.redraw is not None:
        inputs = Inputs(tables, _released_columns(statement.blocks, blocks), unasked.error_of)
        computed = computed_answers(statement, inputs, table, public)
    empty = _empty_groups_notes(statement.blocks, blocks) if statement.counts_rows else ()
    notes = (*notes, *empty, *computed.notes, *_undefined_notes(table))
    rows = table.column(0).to_pylist() if statement.outer_columns else None
    table = table if statement.row_column is None else table.drop_columns([table.column_names[0]])
    left = {
        (b.name, a.column): _unshown(_shown(a, found, rules, unasked) if rules.cut_counts else found)
        for b, columns in zip(statement.blocks, blocks, strict=True)
        for a, found in zip(b.aggregates, columns, strict=True)
    }
    columns = {
        i: _of_rows(left[statement.blocks[0].name, source], rows or [])
        for i, source in enumerate(statement.outer_columns)
        if source is not None
    }
    for i, found in columns.items():
        table = _with_values(table, i, found, rules)
    ends = statement.redraw is not None and any(d.ends for d in statement.redraw.outputs)
    unshown = [c for c in left.values() if isinstance(c, list)]
    columns |= _charged(computed.answers or (columns if ends else {}), unshown, rows)
    released = () if columns else tuple(a for found in blocks for row in zip(*found, strict=True) for a in row)
    within = () if rows is None else tuple(map(_within(statement.blocks[0], blocks[0]).__getitem__, rows))
    shown = Result(table, _types(table), columns, released, notes, within=within)
    return _with_late(statement, shown)


def _signless(table: pa.Table) -> pa.Table:
    """The table with 0 for -0.0, which is what a count of 0 over one that noise took below 0 is."""
    for i, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            table = table.set_column(i, table.field(i), pc.add(column, pa.scalar(0.0, column.type)))
    return table


def _undefined_notes(table: pa.Table) -> Iterator[Note]:
    """That a quotient of released numbers has no value, as DuckDB has it: it sorts above all that have one."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_floating(column.type):
            found = pc.sum(pc.invert(pc.is_finite(column))).as_py() or 0
            if found:
                yield Note(
                    "computed",
                    f"{name}: nan and inf ({found:,}), as a division by 0 gives them, sort beside all numbers; "
                    "NULLIF(divisor, 0) makes them NULL",
                )


def _empty_groups_notes(blocks: Sequence[Block], answers: Sequence[Columns]) -> Sequence[Note]:
    """That groups with no row are averaged and counted like others, which they are not where rows are read."""
    doubted = [_within(block, columns) for block, columns in zip(blocks, answers, strict=True)]
    text = "{} of the {:,} groups that are averaged or counted may have no row; a condition on their count drops these"
    return [Note("few", text.format(f"{sum(d):,}", len(d))) for d in doubted if sum(d)]


def _released_columns(blocks: Sequence[Block], answers: Sequence[Columns]) -> dict[tuple[str, str], ReleasedColumn]:
    """The aggregate columns of the released tables, with what each number of them asks."""
    out = {}
    for block, columns in zip(blocks, answers, strict=True):
        for aggregate, found in zip(block.aggregates, columns, strict=True):
            keys = [_key(block, aggregate, group) for group in range(len(found))]
            counted = aggregate.denominator is None and aggregate.summary is None
            queries = [_counted(form) if counted else None for form in aggregate.numerator]
            integer = aggregate.sql_type == "BIGINT" and counted
            forms = zip(aggregate.numerator, aggregate.denominator or aggregate.numerator, found, strict=True)
            bounds = [_is_bound(top, bottom, answer) for top, bottom, answer in forms]
            asked = () if aggregate.summary else tuple([aggregate.forms(group) for group in range(len(found))])
            own = found, tuple(keys), integer, tuple(queries), tuple(bounds), asked, aggregate.centers
            released = ReleasedColumn(*own)
            out[block.name, aggregate.column] = released
    return out


def _key(block: Block, aggregate: Aggregate, group: int) -> Hashable:
    """Equal for aggregates that are one number."""
    if aggregate.summary is not None:
        return block.name, aggregate.column, group
    return tuple((f.constant, *((t.coefficient, t.query.digest) for t in f.terms)) for f in aggregate.forms(group))


def _is_bound(top: Form, bottom: Form, answer: Answer) -> bool:
    """Whether an error is a bound rather than a spread: of a passed test, of where rows stand in a bin, or of how many
    rows of a string there may be by its owner's word, which may be a part of what is measured."""
    terms = [term for form in (top, bottom) for term in form.terms]
    if any(term.doubt for term in terms) or answer.source == "public":
        return True
    by_word = answer.source == "measurement" and any(term.query.keyed is not None for term in terms)
    return answer.source == "hypothesis" if answer.error_kind == "exact" else by_word


def _counted(form: Form) -> LinearQuery | None:
    """The query whose count a form is; ``None`` for what is more than a count."""
    match form.terms:
        case (Term(1.0, query, 0),) if form.constant == 0 and query.value is None:
            return query
    return None


def _charged(
    computed: Mapping[int, Sequence[Answer]], left: Sequence[Sequence[Answer]], rows: Sequence[int] | None
) -> dict[int, Sequence[Answer]]:
    """The computed answers, the first of a row with what its released numbers charged and no column shows.

    Without row numbers, the first of all. Where nothing but ends of intervals is computed ``computed`` are all that are
    shown.
    """
    out = dict(computed)
    if not out:
        return out
    first = min(out)
    answers = list(out[first])
    for at in range(len(answers)):
        if rows is None:
            charged = sum(a.charged for column in left for a in column) if at == 0 else 0.0
        else:
            charged = sum(column[rows[at]].charged for column in left)
        if charged:
            answers[at] = replace(answers[at], charged=charged)
    out[first] = tuple(answers)
    return out


def _with_late(statement: Statement, found: Result) -> Result:
    """The result with the columns that are ends of intervals."""
    table = found.table
    for late in statement.late:
        answers = found.column_answers.get(late.of)
        if answers is None:
            ends = [None if v is None else float(v) for v in table.column(late.of).to_pylist()]
        else:
            ends = [None if a.interval is None else a.interval[late.end] for a in answers]
        table = table.set_column(late.column, table.schema.names[late.column], pa.array(ends, pa.float64()))
    return replace(found, table=table) if statement.late else found


def _with_values(table: pa.Table, column: int, answers: Sequence[Answer], rules: ModelRules) -> pa.Table:
    """The table with a column's values as the answers show them, where these differ."""
    shown = answers.numbers.tolist() if isinstance(answers, CrosstabAnswers) else [a.value for a in answers]
    field, values = table.schema.field(column), table.column(column)
    known = pa.types.is_integer(field.type) or (rules.fine and pa.types.is_floating(field.type))
    if not known or values.to_pylist() == shown:
        return table
    return table.set_column(column, field, pa.array(shown, field.type))


def _unshown(answers: Sequence[Answer]) -> CrosstabAnswers | list[Answer]:
    """Answers whose charges are still to be shown; those of a crosstab are free."""
    return answers if isinstance(answers, CrosstabAnswers) else list(answers)


def _of_rows(answers: CrosstabAnswers | list[Answer], rows: Sequence[int]) -> Sequence[Answer]:
    """The answer of each row."""
    if isinstance(answers, CrosstabAnswers):
        return answers.among(np.array(rows, dtype=np.int64))
    return tuple([_once(answers, r) for r in rows])


def _once(answers: list[Answer], row: int) -> Answer:
    """The answer of a row, which shows its charge the first time only."""
    answer = answers[row]
    if answer.charged:
        answers[row] = replace(answer, charged=0.0)
    return answer


def _direct(direct: Sequence[DirectColumn], block: Block, columns: Columns, notes: tuple[Note, ...]) -> Result:
    """The fast path: the block's rows are the result."""
    released: dict[str, Sequence[Answer]] = {}
    kinds: dict[str, str] = dict(zip(block.group_columns, block.group_types, strict=True))
    for aggregate, found in zip(block.aggregates, columns, strict=True):
        released[aggregate.column], kinds[aggregate.column] = found, aggregate.sql_type
    arrays, names, types, answers = [], [], [], {}
    for position, column in enumerate(direct):
        kind = kinds[column.source]
        if column.source in released:
            found = released[column.source]
            values: Sequence[Shown] = shown_values(found)
            answers[position] = found
            if not isinstance(found, CrosstabAnswers):  # which are free
                released[column.source] = tuple([replace(a, charged=0.0) if a.charged else a for a in found])
        else:
            at = block.group_columns.index(column.source)
            values = [group[at] for group in block.groups]
        arrays.append(released_array(values, aggregate_type(kind)))
        names.append(column.name)
        types.append(kind)
    return Result(pa.table(arrays, names=names), tuple(types), answers, notes=notes)


def _types(table: pa.Table) -> tuple[str, ...]:
    return tuple([type_name(t) for t in table.schema.types])
