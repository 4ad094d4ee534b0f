"""What each aggregate asks of the rows of a group: sums of parts, counts of values, moments, distinct values.

``counting`` turns that into linear queries; this room knows SQL's aggregates and nothing of grids.
"""
