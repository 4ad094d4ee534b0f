"""Released numbers, result tables, budget and explanations: everything an analyst may see.

These are the types that leave the session. They know neither engine nor ledger, so rendering them cannot reach a
private value.
"""

from dpsql.result.answer import EXACT_ZERO, Answer, ErrorKind, Label, Shown, Source
from dpsql.result.budget import Budget, Purse, TableOutlook
from dpsql.result.crosstab import CrosstabAnswers
from dpsql.result.explanation import Explanation, QueryPlan
from dpsql.result.note import Note, NoteKind, table_notes
from dpsql.result.table import Result
from dpsql.result.terms import NO_TERMS, Terms

__all__ = [
    "EXACT_ZERO",
    "NO_TERMS",
    "Answer",
    "Budget",
    "CrosstabAnswers",
    "ErrorKind",
    "Explanation",
    "Label",
    "Note",
    "NoteKind",
    "Purse",
    "QueryPlan",
    "Result",
    "Shown",
    "Source",
    "TableOutlook",
    "Terms",
    "table_notes",
]
