"""A synthetic graph that keeps all cuts (Gupta, Roth, Ullman 2011, section 6): docs/papers/graph.md.

Noise goes on every pair of vertices once (``noise``); what is left is post-processing: a weighted graph near the noisy
one (``spectral``, or ``linear_program`` with the oracle of ``cut_norm``) and a simple graph drawn from it (``simple``).
"""

from dpsql.synthesis.graph.method import OPTIONS, check_graph, graph

__all__ = ["OPTIONS", "check_graph", "graph"]
