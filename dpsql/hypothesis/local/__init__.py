"""Local models from clean 1- and 2-way tables: the hypothesis of universes too large for a tensor.

No tensor holds forty columns. Each question gets a model of its own few columns, made from what all questions share:
clean tables of one and of two columns.
"""
