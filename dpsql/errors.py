"""Every exception of dpsql: the PEP 249 tree, with errors that carry objects and name the next step.

    Error                                what the analyst can be shown; never holds a row value
    ├── InterfaceError                   the connection or cursor was used wrongly (closed, nothing executed)
    └── DatabaseError
        ├── DataError                    a value does not fit: wrong parameter type, NUL in a string
        ├── OperationalError             the world is in the way: files, locks, entropy
        │   ├── EngineError              DuckDB could not read the private table
        │   ├── LedgerError              the ledger is missing, altered, older, locked or of another policy
        │   └── BudgetExhausted          the accountant refuses: .requested, .remaining
        ├── IntegrityError
        ├── InternalError
        ├── ProgrammingError             the text is wrong
        │   ├── SqlSyntaxError           .line, .column
        │   ├── UnknownName              .name, .suggestions, .line, .column
        │   └── PolicyError              .path, the key's path in the policy file
        └── NotSupportedError
            └── UnsupportedQuery         .line, .column, .reason, .hint

Every ``Error`` has a ``hint``, what to do next in one sentence, which a traceback shows too (PEP 678), and ``charged``,
the epsilon that its statement had paid when it failed: 0.0 for a refusal. Beside them stand ``Warning``, and below it
``PolicyWarning``, which ``dpsql.connect`` gives.
"""

import builtins
from collections.abc import Sequence
from typing import Any

NEW_BUDGET = "--new-budget (in Python new_budget=True)"
"""How a hint names the door to a second budget on people who have a ledger."""
SECOND_LEDGER = "--ledger PATH --new-budget (in Python ledger=PATH, new_budget=True)"
"""The same with a ledger of its own."""
LEDGER_MISSING = "a second budget needs a ledger of its own: add --ledger PATH (in Python ledger=PATH)"
"""What a hint says where ``--new-budget`` was given without it."""
LISTED = "\\d in dpsql shell (in Python con.tables())"
"""How a hint names the list of tables, their columns and domains."""
CHARGED = "charged:"
"""How the note of an error begins that says what its statement had paid."""


class Warning(builtins.Warning):  # noqa: A001 - the name is PEP 249's
    """Important warnings (PEP 249); one of Python's, so that ``warnings`` can show and silence it."""


class PolicyWarning(Warning):
    """The policy is right in form, but may protect less than it seems to."""


class Error(Exception):
    """Base class of every dpsql error.

    ``charged``: in epsilon, what the statement had paid already; what it bought is kept, and an equal question free.

    >>> error = Error("no such file", hint="check the path")
    >>> error.hint, error.__notes__, error.charged
    ('check the path', ['hint: check the path'], 0.0)
    """

    charged: float = 0.0
    default_hint = "see docs/sql.md for what dpsql answers"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint: str = self.default_hint if hint is None else hint
        self.add_note(f"hint: {self.hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickles and copies, as processes send them: without another call of ``__init__``."""
        return _bare, (type(self), self.args), self.__dict__ | {"__notes__": [*self.__notes__]}

    def after_charge(self, charged: float) -> None:
        """Say that the statement had paid ``charged`` (epsilon) before it failed."""
        self.charged = charged
        if charged > 0.0:
            self.add_note(f"{CHARGED} epsilon {charged:.3g}; what it bought is kept, and free when it is asked again")


def _bare(kind: type[Error], arguments: tuple[Any, ...]) -> Error:
    return kind.__new__(kind, *arguments)


class InterfaceError(Error):
    """The interface itself was misused, not the database (PEP 249)."""

    default_hint = "open a connection with dpsql.connect(...) and call cursor.execute(...) first"


class DatabaseError(Error):
    """Errors of the database (PEP 249)."""


class DataError(DatabaseError):
    """A value cannot be used: wrong type, not representable (PEP 249)."""

    default_hint = "pass parameters as numbers, strings, booleans, dates or None"


class OperationalError(DatabaseError):
    """Errors of the database's operation, not under the analyst's control (PEP 249)."""

    default_hint = "ask the owner of the database"


class IntegrityError(DatabaseError):
    """Relational integrity (PEP 249); dpsql never writes, so it is never raised."""


class InternalError(DatabaseError):
    """dpsql met a state that it believed impossible (PEP 249)."""

    default_hint = "please report this; what the statement had paid until then stays paid, as the budget shows"


class ProgrammingError(DatabaseError):
    """The statement or the policy is wrong (PEP 249)."""


class NotSupportedError(DatabaseError):
    """Valid SQL that dpsql does not answer (PEP 249)."""


class EngineError(OperationalError):
    """The private table could not be read. Carries no text of the engine, which may quote rows."""


class LedgerError(OperationalError):
    """The ledger cannot be used as it is; spending on it would not be accounted for."""

    default_hint = "restore the ledger from the owner's copy; never delete it to go on"


class BudgetExhausted(OperationalError):
    """The accountant refuses before any data are touched.

    ``requested`` and ``remaining`` are shares of epsilon, as ``Budget`` shows what is spent.
    """

    default_hint = "equal questions stay free; ask the owner for a new budget"

    def __init__(self, message: str, *, requested: float, remaining: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.requested = requested
        self.remaining = remaining


def _located(message: str, line: int | None, column: int | None) -> str:
    return message if line is None else f"line {line}, column {column}: {message}"


class SqlSyntaxError(ProgrammingError):
    """The text is not one SQL statement. ``line`` and ``column`` count from 1."""

    default_hint = "send one SELECT statement in DuckDB's dialect"

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(_located(message, line, column), hint=hint)
        self.line = line
        self.column = column


class UnknownName(ProgrammingError):
    """A table or column that the policy does not declare. ``suggestions`` are public names, best first."""

    def __init__(
        self,
        message: str,
        *,
        name: str,
        suggestions: Sequence[str] = (),
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        if hint is None:
            hint = f"did you mean {suggestions[0]}?" if suggestions else f"{LISTED} lists what exists"
        super().__init__(_located(message, line, column), hint=hint)
        self.name = name
        self.suggestions: tuple[str, ...] = tuple(suggestions)
        self.line = line
        self.column = column


class PolicyError(ProgrammingError):
    """The policy is wrong at ``path``, for example ``tables.adult.columns.age.min``."""

    default_hint = "docs/policy.md describes every key"

    def __init__(self, message: str, *, path: str = "", hint: str | None = None) -> None:
        super().__init__(f"{path}: {message}" if path else message, hint=hint)
        self.path = path


class UnsupportedQuery(NotSupportedError):
    """Valid SQL, refused at no charge: where, why, and what to write instead."""

    def __init__(
        self, reason: str, *, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(_located(reason, line, column), hint=hint)
        self.reason = reason
        self.line = line
        self.column = column
