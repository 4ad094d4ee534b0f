"""What a reader of a statement's numbers must know: which rows they speak of, and which groups there are. Public.

It depends on the policy, the statement and the strings that were released, so a note tells nothing that is not known.
"""

from dpsql.result import Note, table_notes
from dpsql.session.asker import Asker
from dpsql.sql.expressions.remarks import notes_of
from dpsql.sql.statement import Remark, Statement


def statement_notes(statement: Statement, asker: Asker) -> tuple[Note, ...]:
    """One note per kind and table or column: caps and rows left out, undeclared values, released strings."""
    remarks = [r for r in statement.remarks if not r.grouped or _has_null_group(statement, r)]
    notes = [*(Note("statement", text) for text in statement.notices), *(notes_of(remarks) if remarks else ())]
    for name in dict.fromkeys([block.table for block in statement.blocks]):
        notes += table_notes(asker.states[name].plan.table)
    for column, cells in dict.fromkeys([cut for block in statement.blocks for cut in block.cut]):
        text = f"a condition holds for a part of what is counted together of {column}: {cells}"
        notes.append(Note("bins", f"{text}; bars hold wherever in it the rows are"))
    for table, column in statement.grouped:
        keys = asker.keys(table, column)
        if keys is not None:
            text = f"only the frequent strings of {column} that were released are groups ({len(keys):,} of them)"
            notes.append(Note("strings", text))
    return tuple(notes)


def _has_null_group(statement: Statement, remark: Remark) -> bool:
    return any(None in group for block in statement.blocks if block.table == remark.table for group in block.groups)
