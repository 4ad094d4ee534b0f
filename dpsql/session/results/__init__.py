"""Results: what the released numbers of a statement become, and the bars of what is computed from them. Public."""

from dpsql.session.results.released import result

__all__ = ["result"]
