"""Values: what a row holds in a declared column, and what an analyst gives for the placeholders of a statement.

Every layer names them, from the codes of a column to the cursor; they stand at the bottom so that each says the same.
"""

from collections.abc import Mapping, Sequence
from datetime import date

Value = int | float | str | bool | date | None
Parameters = Sequence[object] | Mapping[str, object] | None
"""Values for ``?`` in order, or for ``$name`` by name."""
