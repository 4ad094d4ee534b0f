"""One tensor over all cells of a table: the hypothesis of universes that fit in memory."""
