"""What an analyst gives for the placeholders of a statement.

Every layer names it, from the cursor to the binder; it stands at the bottom so that each says the same.
"""

from collections.abc import Mapping, Sequence

Parameters = Sequence[object] | Mapping[str, object] | None
"""Values for ``?`` in order, or for ``$name`` by name."""
