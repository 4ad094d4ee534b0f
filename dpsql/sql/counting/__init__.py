"""From bound expressions to linear queries: aggregates, evaluation on public values, groups, pieces."""
