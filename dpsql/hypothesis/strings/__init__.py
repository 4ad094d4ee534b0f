"""Sparse weights of strings: the hypothesis of text columns, which have no list of values."""
