"""What the offline constructions share: the universe of a workload, its answers at once, and what a round costs.

``dpsql.synthesis.iterative`` and ``dpsql.synthesis.mwem`` are made of it: choose a query on which hypothesis and table
differ, measure it, update, again.
"""
