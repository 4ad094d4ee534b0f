"""One tensor over all cells of a table: the hypothesis of universes that fit in memory.

Where it fits, nothing is lost: every measurement teaches every column, and all answers come from one consistent table.
"""
