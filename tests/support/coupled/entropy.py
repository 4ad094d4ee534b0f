"""The two sources of noise: one that tells, and one that retells so that the same values are released."""

import random
from collections.abc import Sequence
from fractions import Fraction

from dpsql.query import KeyCounts
from tests.support.coupled.tape import Draw, Opened, Tape, begin_of, by_key


class Telling:
    """Draws as they come, from a seed; every test is hard with probability ``hard``, whatever was compared."""

    def __init__(self, seed: int, tape: Tape, hard: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 - tests want the same draws every time
        self._tape = tape
        self._hard = hard

    def bits(self, n: int) -> int:
        if self._tape.flips:
            return self._random.getrandbits(n)
        opened = self._tape.opened[-1]
        opened.coins.append((1 << n) - 1 if self._random.random() < self._hard else 0)
        return opened.coins[-1]

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        opened = self._tape.opened[-1]
        noise = [round(self._random.gauss(0, float(sigma))) for _ in range(size)]
        opened.draws.append(Draw(sigma, tuple(noise), begin_of(opened.draws)))
        return noise

    def above(self, sigma: Fraction, places: Sequence[int]) -> list[int]:
        """Noise above each place; far out its first numbers alone."""
        opened, noise = self._tape.opened[-1], []
        for place in places:
            drawn = round(self._random.gauss(0, float(sigma)))
            for _ in range(1_000):
                if drawn > place:
                    break
                drawn = round(self._random.gauss(0, float(sigma)))
            noise.append(drawn if drawn > place else place + 1)
        opened.draws.append(Draw(sigma, tuple(noise), begin_of(opened.draws)))
        return noise

    def noisy_max(self, scores: list[int], scale: Fraction) -> int:
        chosen = self._random.randrange(len(scores))
        self._tape.opened[-1].chosen.append((chosen, scale))
        return chosen

    def gumbel_max(self, scores: list[int], scale: Fraction, size: int) -> list[int]:
        positions = [self._random.randrange(len(scores)) for _ in range(size)]
        self._tape.opened[-1].weighted.append((tuple(positions), scale))
        return positions


class Retelling:
    """Feeds the outcomes of ``told``: noise is what leads from the neighbour's numbers to the released ones."""

    def __init__(self, told: Tape, tape: Tape) -> None:
        self._told = told
        self._tape = tape

    def bits(self, n: int) -> int:
        here, there = self._pair()
        if self._tape.flips:
            return self._response(here, there)
        number = len(here.coins)
        if there is None or number >= len(there.coins):
            self._tape.odd.append("a test that the other session does not make")
            here.coins.append(0)
        else:
            here.coins.append(there.coins[number])
        return here.coins[-1]

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        here, there = self._pair()
        noise = [0] * size
        if there is None or (there.vector and not there.draws):
            self._tape.odd.append("noise that the other session does not draw")
        elif isinstance(here.raw, KeyCounts) and isinstance(there.raw, KeyCounts):
            noise = self._keys(here.raw, there, begin_of(here.draws), size)
        else:
            noise = self._cells(here, there, size)
        here.draws.append(Draw(sigma, tuple(noise), begin_of(here.draws)))
        return noise

    def above(self, sigma: Fraction, places: Sequence[int]) -> list[int]:
        """What leads to the same entries; on the other side of the threshold than they are nothing does."""
        here, there = self._pair()
        if there is None or not there.entries or len(there.vector) != len(here.vector):
            self._tape.odd.append("entries that the other session does not draw")
            return [place + 1 for place in places]
        moved = [b - a for a, b in zip(here.vector, there.vector, strict=True)]
        told = [n for d in there.draws for n in d.noise]
        noise = [n - m if self._tape.hidden else n + m for n, m in zip(told, moved, strict=True)]
        if any(n <= place for n, place in zip(noise, places, strict=True)):
            self._tape.odd.append("entries on the other side of the threshold")
        here.draws.append(Draw(sigma, tuple(noise), begin_of(here.draws)))
        return noise

    def noisy_max(self, scores: list[int], scale: Fraction) -> int:
        here, there = self._pair()
        chosen = 0
        if there is None or len(here.chosen) >= len(there.chosen):
            self._tape.odd.append("a choice that the other session does not make")
        else:
            chosen = there.chosen[len(here.chosen)][0]
        here.chosen.append((chosen, scale))
        return chosen

    def gumbel_max(self, scores: list[int], scale: Fraction, size: int) -> list[int]:
        here, there = self._pair()
        positions: tuple[int, ...] = (0,) * size
        if there is None or len(here.weighted) >= len(there.weighted):
            self._tape.odd.append("weighted draws that the other session does not make")
        else:
            positions = there.weighted[len(here.weighted)][0]
        here.weighted.append((positions, scale))
        return list(positions)

    def _response(self, here: Opened, there: Opened | None) -> int:
        """Coins of 32 bits, little ones first: 0 flips a bit, the largest number does not."""
        if there is None or len(there.told) != len(here.vector):
            self._tape.odd.append("a response that the other session does not make")
            return 0
        flipped = [bool(bit) != told for bit, told in zip(here.vector, there.told, strict=True)]
        return sum(0 if flip else 0xFFFFFFFF << 32 * i for i, flip in enumerate(flipped))

    def _pair(self) -> tuple[Opened, Opened | None]:
        here, number = self._tape.opened[-1], len(self._tape.opened) - 1
        return here, self._told.opened[number] if number < len(self._told.opened) else None

    def _cells(self, here: Opened, there: Opened, size: int) -> list[int]:
        begin, told = begin_of(here.draws), [n for d in there.draws for n in d.noise]
        ours, theirs = here.vector, there.vector
        if len(told) < begin + size or len(ours) != len(theirs):
            self._tape.odd.append("noise of another size than the other session's")
            return [0] * size
        at = range(begin, begin + size)
        if begin + size > len(ours):  # noise beyond what was opened: fed as it was
            return [told[i] for i in at]
        return [told[i] + theirs[i] - ours[i] for i in at]

    def _keys(self, raw: KeyCounts, there: Opened, begin: int, size: int) -> list[int]:
        """A key that the other table does not have gets what a count of 0 without noise would show: nothing."""
        noise = [n for d in there.draws for n in d.noise]
        seen = dict(zip(there.raw.keys, (c + n for c, n in zip(there.vector, noise, strict=True)), strict=True))
        ours = by_key(raw)
        return [seen.get(key, 0) - ours[key] for key in raw.keys[begin : begin + size]]
