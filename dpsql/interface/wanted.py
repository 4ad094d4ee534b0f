"""What is written about a synthetic table, in Python or on the command line, as the value that a session takes.

A workload may be a word, statements, or a file of statements; which it is, is decided here once for all interfaces.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path

from dpsql.errors import DataError, OperationalError
from dpsql.interface.splitter import split
from dpsql.synthesis.methods import method_named
from dpsql.synthesis.wanted import Part, Wanted
from dpsql.synthesis.workload import is_word, typed

Workload = str | PathLike[str] | Sequence["str | PathLike[str]"] | None
"""Words such as ``marginals:2``, statements, or files of them whose names end in .sql."""
Epsilon = int | float | str | Fraction | None
_MOST_DIGITS = 300


def wanted(
    table: str,
    method: str,
    workload: Workload,
    epsilon: Epsilon,
    rows: int | None,
    seed: int,
    options: Mapping[str, object],
    *,
    keeps_first_look: bool = True,
) -> Wanted:
    """Checked as far as its types go. DataError and OperationalError with what to write instead.

    >>> wanted("t", "session", "marginals:2", "0.5", None, 1, {}).epsilon
    Fraction(1, 2)
    """
    if not isinstance(table, str) or not isinstance(method, str):
        raise DataError("table and method are names", hint='write table="adult", method="session"')
    method_named(method)
    if (rows is not None and type(rows) is not int) or type(seed) is not int:
        raise DataError("rows and seed are whole numbers", hint="leave them out for the usual ones")
    listed = () if workload is None else [workload] if isinstance(workload, str | PathLike) else list(workload)
    parts = tuple(part for item in listed for part in _parts(item))
    if listed and not parts:
        raise DataError("the workload has no statement", hint="write SELECT COUNT(*) ..., or a word: marginals:2")
    words = {str(name): str(value) for name, value in options.items()}
    return Wanted(table, method, parts, _fraction(epsilon), rows, words, seed, keeps_first_look)


def _fraction(epsilon: Epsilon) -> Fraction | None:
    if epsilon is None:
        return None
    text = str(epsilon)
    try:
        if "/" not in text and abs(Decimal(text).adjusted()) > _MOST_DIGITS:
            raise ValueError("its fraction would fill the memory")
        return Fraction(text)
    except (ValueError, ArithmeticError):
        raise DataError("epsilon is not a number", hint="write epsilon as a number, such as 0.5") from None


def _parts(item: object) -> list[Part]:
    if isinstance(item, PathLike) or (isinstance(item, str) and item.lower().endswith(".sql")):
        path = Path(item)
        return [Part(f"{path}:{piece.line}", piece.text) for piece in split(_read(path))]
    if not isinstance(item, str):
        raise DataError("a workload is made of texts and paths", hint='write workload="marginals:2"')
    if is_word(typed(item)):
        return [Part("workload", item)]
    return [Part(f"workload, line {piece.line}", piece.text) for piece in split(item)]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text", hint="save the file as UTF-8") from None
    except OSError as error:
        raise OperationalError(f"{path}: {error.strerror}", hint="check the path of the workload") from None
