"""From bound expressions to linear queries: evaluation on public values, groups, pieces.

Here a statement turns into arithmetic: after this room there are weights and coefficients, and no more SQL.
"""
