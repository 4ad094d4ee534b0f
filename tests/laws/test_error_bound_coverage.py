"""The 95 % bound of a measured answer covers, for every scale and number of cells in use (docs/privacy.md)."""

import math

import numpy as np
import pytest

from dpsql.hypothesis import error_bound


def coverage(sigma: float, cells: int, bound: int) -> float:
    """P(|sum of ``cells`` independent discrete Gaussians| <= bound), by the sum's exact characteristic function."""
    reach = math.ceil(9 * sigma * math.sqrt(cells)) + 20
    size = 1 << (2 * reach).bit_length()
    x = np.arange(-(size // 2), size // 2)
    law = np.exp(-(x.astype(float) ** 2) / (2 * sigma**2))
    one = np.fft.fft(np.fft.ifftshift(law / law.sum()))
    total = np.fft.fftshift(np.fft.ifft(one**cells).real)
    return float(total[np.abs(x) <= bound].sum())


@pytest.mark.parametrize("cells", [1, 2, 5, 16, 64, 1000])
def test_rounding_up_covers_at_least_95_percent(cells: int) -> None:
    for sigma in (0.5, 0.7, 1.0, 1.3, 2.0, 4.5, 10.1, 29.6, 57.9, 260.0):
        assert coverage(sigma, cells, error_bound(sigma * math.sqrt(cells))) >= 0.95


def test_rounding_down_would_not() -> None:
    worst = min(coverage(sigma, 1, math.floor(1.96 * sigma)) for sigma in (0.5, 0.7, 1.0, 1.3, 2.0))
    assert worst < 0.9
    assert coverage(29.6, 1, error_bound(29.6)) < 0.96  # the bound is not merely generous
