"""Keeps docs/dials.md true to the code: ``python docs/generate_dials.py --files`` rewrites values and files, not words.

Without an option it prints what differs. tests/meta/test_dials.py runs the same comparison.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dials.md"

_NUMBERS = (int, float)
_MAKERS = frozenset({"Fraction", "Decimal"})
_NEUTRAL = frozenset({"0", "1", "0.0", "1.0", "Fraction(0)", "Fraction(1)"})
_UPPERCASE = re.compile(r"_?[A-Z][A-Z0-9_]*")
_ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| ((?:`dpsql/[^`]+`(?:, )?)+) \|", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Dial:
    """A number that somebody chose: its name in the code, its value as written there, its file below the root."""

    name: str
    value: str
    file: str


@dataclass(frozen=True)
class Row:
    """A row of the page: one name and value, which may stand in several files."""

    line: int
    name: str
    value: str
    files: tuple[str, ...]

    @property
    def dials(self) -> tuple[Dial, ...]:
        return tuple(Dial(self.name, self.value, file) for file in self.files)

    @property
    def cells(self) -> str:
        return f"| `{self.name}` | `{self.value}` | {', '.join(f'`{file}`' for file in self.files)} |"


def is_number(node: ast.expr) -> bool:
    """Whether an expression is made of written-out numbers: literals, arithmetic with constants, tuples, fractions."""
    match node:
        case ast.Constant(value):
            return isinstance(value, _NUMBERS) and not isinstance(value, bool)
        case ast.UnaryOp(_, operand):
            return is_number(operand)
        case ast.BinOp(ast.Name(), _, other) | ast.BinOp(other, _, ast.Name()):
            return is_number(other)
        case ast.BinOp(left, _, right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elements):
            return bool(elements) and all(map(is_number, elements))
        case ast.Call(ast.Name(maker), arguments, []) if maker in _MAKERS:
            return all(is_number(a) or _is_digits(a) for a in arguments)
        case _:
            return False


def _is_digits(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(r"[\d.]", node.value) is not None


def dials_of(source: str, file: str) -> Iterator[Dial]:
    """Every number of a module that was chosen: UPPERCASE names, and defaults of fields and parameters but 0 and 1.

    >>> [(d.name, d.value) for d in dials_of("A, _B = 1, 2.5\\nc = 3\\ndef f(x=0, *, y=7): ...", "m.py")]
    [('A', '1'), ('_B', '2.5'), ('f(y)', '7')]
    """
    text = ast.get_source_segment
    for node in ast.walk(ast.parse(source)):
        for name, value in (*_assigned(node), *_defaults(node)):
            if is_number(value):
                yield Dial(name, " ".join((text(source, value) or "").split()), file)


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.Module | ast.ClassDef):
        return
    fields = isinstance(node, ast.ClassDef) and not any("Enum" in ast.unparse(base) for base in node.bases)
    for statement in node.body:
        match statement:
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                pairs = list(zip(names, values, strict=True))
            case ast.Assign([target], value) | ast.AnnAssign(target, value=ast.expr() as value):
                pairs = [(target, value)]
            case _:
                pairs = []
        for target, value in pairs:
            name = ast.unparse(target)
            if _UPPERCASE.fullmatch(name) and (fields or isinstance(node, ast.Module)):
                yield name, value
            elif fields and isinstance(statement, ast.AnnAssign) and ast.unparse(value) not in _NEUTRAL:
                yield f"{node.name}.{name}", value


def _defaults(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    positional = [*node.args.posonlyargs, *node.args.args]
    given = list(zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults, strict=True))
    given += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    for argument, default in given:
        if ast.unparse(default) not in _NEUTRAL:
            yield f"{node.name}({argument.arg})", default


def in_code() -> list[Dial]:
    """All dials of the package, sorted."""
    files = sorted((ROOT / "dpsql").rglob("*.py"))
    found = ((f.read_text(encoding="utf-8"), f.relative_to(ROOT).as_posix()) for f in files)
    return sorted(dial for source, file in found for dial in dials_of(source, file))


def on_page(text: str) -> list[Row]:
    """The rows of the page's tables."""
    return [
        Row(text.count("\n", 0, m.start()) + 1, m[1], m[2], tuple(re.findall(r"`([^`]+)`", m[3])))
        for m in _ROW.finditer(text)
    ]


def corrected(rows: Iterable[Row], dials: Iterable[Dial]) -> tuple[dict[int, Row], list[Dial]]:
    """The rows by line with values and files as in the code, and the dials that no row speaks of.

    A row whose file is gone takes a dial of its name that no other row has: of the same module's name or value, else
    of the same number of letters in common at the end of the path. A row that finds none has no files.
    """
    rows, free = list(rows), defaultdict[str, list[Dial]](list)
    for dial in dials:
        free[dial.name].append(dial)
    kept: dict[int, list[Dial]] = {row.line: [] for row in rows}
    open_places = [(row, file) for row in rows for file in row.files]
    for same in (_same_file, _same_module, _same_value, _same_name):
        places, open_places = open_places, []
        for row, file in places:
            found = next((d for d in free[row.name] if same(row, file, d)), None)
            if found is None:
                open_places.append((row, file))
            else:
                free[row.name].remove(found)
                kept[row.line].append(found)
    out = {}
    for row in rows:
        values = list(dict.fromkeys(d.value for d in kept[row.line]))
        out[row.line] = replace(
            row, value=" and ".join(values) or row.value, files=tuple(d.file for d in kept[row.line])
        )
    return out, sorted(d for left in free.values() for d in left)


def _same_file(_: Row, file: str, dial: Dial) -> bool:
    return dial.file == file


def _same_module(row: Row, file: str, dial: Dial) -> bool:
    return Path(dial.file).name == Path(file).name and dial.value == row.value


def _same_value(row: Row, _: str, dial: Dial) -> bool:
    return dial.value == row.value


def _same_name(_: Row, __: str, ___: Dial) -> bool:
    return True


def complaints(text: str, dials: Iterable[Dial]) -> list[str]:
    """What is wrong with the page, one sentence each, with the row that should stand there."""
    rows = on_page(text)
    wanted, missing = corrected(rows, dials)
    out = [f"missing: | `{d.name}` | `{d.value}` | `{d.file}` | ... | ... |" for d in missing]
    for row in rows:
        if not wanted[row.line].files:
            out.append(f"line {row.line}: `{row.name}` is gone from the code; drop its row")
        elif set(wanted[row.line].dials) != set(row.dials):
            out.append(f"line {row.line}: {row.cells} should be {wanted[row.line].cells}")
    return out


def rewritten(text: str, dials: Iterable[Dial]) -> str:
    """The page with the first three cells of each row as the code has them; rows of dials that are gone stay."""
    wanted, _ = corrected(on_page(text), dials)
    lines = text.split("\n")
    for line, row in wanted.items():
        if row.files:
            lines[line - 1] = _ROW.sub(lambda _, row=row: row.cells, lines[line - 1])
    return "\n".join(lines)


def main() -> int:
    """Exit code 1 when words are still missing or rows are gone."""
    text, dials = PAGE.read_text(encoding="utf-8"), in_code()
    if "--files" in sys.argv[1:]:
        text = rewritten(text, dials)
        PAGE.write_text(text, encoding="utf-8")
    wrong = complaints(text, dials)
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
