"""Coupled sessions: one on a database records every draw; one on a neighbour is fed the same released values.

What is private is known by the one word that opens it (``Private.reveal``), and noise by its one source (``Entropy``).
So the harness knows no question by name: whatever is opened next to a draw is compared with what the reservation
charges, in the norm of the noise, and whatever is opened without one must be equal on both sides.
"""

from tests.support.coupled.compare import compared
from tests.support.coupled.run import Script, coupled, told

__all__ = ["Script", "compared", "coupled", "told"]
