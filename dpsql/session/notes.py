"""What a reader of a statement's numbers must know: which rows they speak of, and which groups there are. Public.

It depends on the policy, the statement and the strings that were released, so a note tells nothing that is not known.
"""

from collections.abc import Iterator, Sequence

from dpsql.query import Crosstab, UnitTable
from dpsql.result import Note, table_notes
from dpsql.session.asker import Asker
from dpsql.session.results.other_strings import of_released
from dpsql.sql.statement import Remark, Statement
from dpsql.sql.undeclared_notes import notes_of


def statement_notes(statement: Statement, asker: Asker) -> tuple[Note, ...]:
    """One note per kind and table or column: caps and rows left out, undeclared values, released strings."""
    remarks = [r for r in statement.remarks if not r.grouped or _has_null_group(statement, r)]
    notes = [*(Note("statement", text) for text in statement.notices), *(notes_of(remarks) if remarks else ())]
    units = {block.table: block.units for block in statement.blocks if block.units is not None}
    for name in dict.fromkeys([block.table for block in statement.blocks]):
        notes += table_notes(units[name].of if name in units else asker.states[name].plan.table)
        notes += [_most_rows(units[name])] if name in units else []
        if any(b.table == name and b.group_columns and not b.aggregates for b in statement.blocks):
            text = f"values of {name} that are listed without a count are those that are possible: no row was counted"
            notes.append(Note("statement", text))
    for column, cells in dict.fromkeys([cut for block in statement.blocks for cut in block.cut]):
        text = f"{column} is counted in parts that this question cuts: {cells}"
        notes.append(Note("bins", f"{text}; bars hold wherever in them the rows are"))
    matched = {(block.table, column) for block in statement.blocks for column in block.matched}
    matched |= {(table.of.name, column) for table in units.values() for column in table.matched}
    for table, column in statement.grouped:
        keys = asker.keys(table, column)
        if (table, column) in matched:
            notes.append(_matched(asker, table, column, keys))
        elif keys is not None:
            text = f"only the frequent strings of {column} that were released are groups ({_strings(keys)})"
            others = _others(asker, table, column, keys)
            more = "" if others is None else f"; rows with other strings, about {others:,}, are in no group"
            if others and statement.redraw is not None:  # something is computed of them
                more += f", nor in totals of groups (of all rows: SELECT COUNT(*) FROM {table})"
            notes.append(Note("strings", text + more))
    return (*notes, *_words(statement, asker))


def _words(statement: Statement, asker: Asker) -> Iterator[Note]:
    """What the owner says of listed strings, where that may be all that is known of them."""
    queries = statement.queries
    some = [queries[0]] if isinstance(queries, Crosstab) else queries  # a crosstab's ask about the same columns
    asked = dict.fromkeys((q.table, c) for q in some if q.keyed for c in q.keyed.text_columns)
    for table, column in asked:
        most = asker.states[table].plan.most_rows.get(column)
        if most is not None:
            rows = f"no string of {column} is in more than {most:,} row{'' if most == 1 else 's'}"
            text = f"{rows}, says the owner (max_rows_per_value): answers that rest on that alone are free, and hold if"
            yield Note("strings", f"{text} it is so")


def _most_rows(table: UnitTable) -> Note:
    """What the largest number of rows of a unit stands for."""
    unit, most = table.of.unit, table.most
    if most == 1:
        return Note("statement", f"{unit}s are counted, and not their rows; those without one are left out")
    rows = f"{unit}s are counted by their rows that count, 1 to {most:,}: one with more is among those with {most:,}"
    return Note("statement", f"{rows}, unless a condition leaves rows out; those without one are left out")


def _matched(asker: Asker, table: str, column: str, keys: Sequence[str | None] | None) -> Note:
    """Which strings an expression of text was evaluated on, and about how many rows have others."""
    text = f"an expression of {column} is evaluated on its frequent strings that were released"
    others = None if keys is None else _others(asker, table, column, keys)
    if keys is None or others is None:
        return Note("strings", f"{text}; rows with other strings count for nothing in it")
    rows = f"rows with other strings, about {others:,}, count for nothing in it"
    return Note("strings", f"{text} ({_strings(keys)}); {rows}; bars, where there are any, reach as far as they may")


def _strings(keys: Sequence[str | None]) -> str:
    """How many strings were released: NULL, which is a group beside them, is none."""
    return f"{sum(k is not None for k in keys):,} of them"


def _others(asker: Asker, table: str, column: str, keys: Sequence[str | None]) -> int | None:
    """About how many rows have strings that were not released; ``None`` before anything is known of the table."""
    model = asker.states[table].model
    if model is None:
        return None
    shown = of_released(asker.states[table].plan.table, column, keys)
    return max(0, round(model.row_count - (0.0 if shown is None else model.estimate(shown))))


def _has_null_group(statement: Statement, remark: Remark) -> bool:
    return any(None in group for block in statement.blocks if block.table == remark.table for group in block.groups)
