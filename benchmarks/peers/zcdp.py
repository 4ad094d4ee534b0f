"""(epsilon, delta) to rho, by OpenDP's own conversion. Imported by other Pythons: needs nothing but OpenDP."""

from typing import Any


def rho_for(dp: Any, epsilon: float, delta: float) -> float:
    """The largest rho whose zCDP is (epsilon, delta)-DP; ``dp`` is ``opendp.prelude``."""
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)

    def spent(scale: float) -> float:
        return float(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)).map(1).epsilon(delta))

    scale = dp.binary_search(lambda s: spent(s) <= epsilon, bounds=(1.0, 1e4))
    return 1.0 / (2.0 * float(scale) ** 2)
