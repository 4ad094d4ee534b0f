"""Statements whose shape was read before: conditions and what surrounds them are remembered apart and put together.

Reading a statement takes most of the time of answering it, and an analyst's statements differ in the values of their
conditions. So a text is cut into its frame and the conjuncts of its WHERE; each is read once, by the ordinary way, and
new values are bound into the tree of a conjunct. Whatever is not certain to mean the same goes the ordinary way.
"""

from dpsql.sql.shapes.shapes import Shapes

__all__ = ["Shapes"]
