"""SmartNoise SQL on the corpus: ``python -m benchmarks.peers.smartnoise_corpus FOLDER``, in a Python that has it.

FOLDER holds ``corpus.sqlite``, ``metadata.json`` and ``statements.json``; ``verdicts.json`` is written there. One
counts as accepted if its parser and validator take it as a private one, and as executed if rows come back from SQLite,
the only engine of its own that needs no server. Names of tables are tried as written and behind their schema.
"""

import json
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

EPSILON, DELTA = 100.0, 1e-6


def forms(sql: str, tables: list[str]) -> list[str]:
    """The statement as written, and with each table behind its schema."""
    names = "|".join(sorted(map(re.escape, tables), key=len, reverse=True))
    qualified = re.sub(rf"(?i)(\b(?:FROM|JOIN)\s+)({names})\b(?!\s*\.)", r"\1main.\2", sql)
    return list(dict.fromkeys([sql, qualified, qualified.replace('"', "")]))


def verdict(reader: Any, sql: str, tables: list[str]) -> dict[str, str]:
    """How far a statement comes: refused, accepted or executed, with the last error."""
    said = ""
    best = "refused"
    for form in forms(sql, tables):
        try:
            reader._rewrite_ast(reader.parse_query_string(form))  # validates, and asks nothing
            best = "accepted"
            reader.execute(form)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its refusal
            said = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        return {"verdict": "executed", "said": ""}
    return {"verdict": best, "said": said}


def main() -> None:
    """Every statement once."""
    from snsql import Privacy, from_connection  # type: ignore[import-not-found]

    folder = Path(sys.argv[1])
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    statements = json.loads((folder / "statements.json").read_text(encoding="utf-8"))
    tables = list(metadata[""]["main"])
    con = sqlite3.connect(folder / "corpus.sqlite")
    found = []
    for sql in statements:
        reader = from_connection(con, privacy=Privacy(epsilon=EPSILON, delta=DELTA), metadata=metadata, engine="sqlite")
        found.append(verdict(reader, sql, tables))
    (folder / "verdicts.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
