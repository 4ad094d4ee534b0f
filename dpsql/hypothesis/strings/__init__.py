"""Sparse weights of strings: the hypothesis of text columns, which have no list of values.

The universe of strings is unbounded; what can be kept is what was measured, and one guess for everything else.
"""
