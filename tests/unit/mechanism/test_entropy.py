"""System entropy: lazy, unseedable, fresh in every process, at the scale that is asked for."""

import subprocess
import sys
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism import SystemEntropy, entropy
from tests.support.entropy import SeededEntropy

WIDE = Fraction(10**9)

FORKS = """
import os, sys
from fractions import Fraction
from dpsql.mechanism import SystemEntropy
system = SystemEntropy()
def show():
    line = [*system.discrete_gaussian(Fraction(10**9), 4), system.bits(128)]
    os.write(1, (' '.join(map(str, line)) + chr(10)).encode())  # one write: lines do not mix
system.discrete_gaussian(Fraction(10**9), 4)  # the generator exists before the fork
for _ in range(4):
    if os.fork() == 0:
        show()
        os._exit(0)
for _ in range(4):
    os.wait()
show()
"""


def test_forked_processes_share_no_draw() -> None:
    run = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=60)
    draws = run.stdout.split()
    assert len(draws) == 25
    assert len(set(draws)) == 25


def test_threads_share_no_draw() -> None:
    draws: list[int] = []
    system = SystemEntropy()

    def draw() -> None:
        draws.extend(system.discrete_gaussian(WIDE, 50))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(draws) == 200
    assert len(set(draws)) == 200


def test_numpy_and_python_seeds_change_nothing() -> None:
    import random

    seen = []
    for _ in range(2):
        np.random.seed(7)
        random.seed(7)
        seen.append((SystemEntropy().discrete_gaussian(WIDE, 3), SystemEntropy().bits(128)))
    assert seen[0] != seen[1]


def test_there_is_nothing_to_seed() -> None:
    with pytest.raises(TypeError):
        SystemEntropy(1)  # type: ignore[call-arg]


def test_importing_the_mechanism_loads_no_sampler() -> None:
    code = "import sys, dpsql.mechanism, dpsql.accounting; print('opendp' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("sigma", [Fraction(0), Fraction(-3)])
def test_no_noise_is_refused(sigma: Fraction) -> None:
    with pytest.raises(InternalError):
        SystemEntropy().discrete_gaussian(sigma, 1)
    with pytest.raises(ValueError, match="positive"):
        SeededEntropy(1).discrete_gaussian(sigma, 1)


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(10, 3), Fraction(2**60 + 1), Fraction(9, 2)])
@pytest.mark.parametrize("size", [2, 1000])
def test_the_scale_is_the_one_that_is_asked_for(sigma: Fraction, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[Fraction] = []

    def single(scale: Fraction, bits: object) -> int:
        scales.append(scale)
        return 7

    def many(scale: Fraction, size: int, bits: object) -> list[int]:
        scales.append(scale)
        return [7] * size

    monkeypatch.setattr(entropy, "single_gaussian", single)
    monkeypatch.setattr(entropy, "gaussian_noise", many)
    assert SystemEntropy().discrete_gaussian(sigma, size) == [7] * size
    assert set(scales) == {sigma}


def test_sizes() -> None:
    assert SystemEntropy().discrete_gaussian(Fraction(3), 0) == []
    draws = SystemEntropy().discrete_gaussian(Fraction(3), 5)
    assert len(draws) == 5
    assert all(type(draw) is int for draw in draws)
    assert 0 <= SystemEntropy().bits(3) < 8


def test_the_seeded_twin_repeats_itself() -> None:
    one, same, other = (SeededEntropy(seed).discrete_gaussian(WIDE, 4) for seed in (5, 5, 6))
    assert one == same != other


def test_a_choice_is_never_made_at_a_smaller_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a scale that is no double the next larger one: a smaller one costs more than is charged."""
    seen: list[Fraction] = []

    def kept(scale: float) -> Any:
        seen.append(Fraction(scale))
        return lambda scores: 0

    monkeypatch.setattr(entropy, "_chooser", kept)
    for scale in (Fraction(1, 10) + Fraction(1, 2**80), Fraction(1, 3), Fraction(1, 2)):
        SystemEntropy().noisy_max([1, 2], scale)
        assert scale <= seen[-1] <= scale * (1 + Fraction(1, 2**51))
    assert seen[-1] == Fraction(1, 2)
