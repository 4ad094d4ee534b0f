"""Classes of strings: representatives, parents and keys against a brute-force search over short strings."""

import random
from itertools import product

import numpy as np
import pytest

from dpsql.domain import Prefix
from dpsql.sql.expressions.text_classes import Candidate, Start, TextClasses, text_classes
from tests.support.contingency import seeded

ALPHABET = "abé"
SHORT = tuple("".join(p) for n in range(5) for p in product(ALPHABET, repeat=n))
STRINGS: tuple[str | None, ...] = (*SHORT, "xyz", "other", None)


def holds(candidate: Candidate, string: str | None) -> bool:
    if isinstance(candidate, Start):
        return Prefix("", candidate.length).of(string) == candidate.string
    return candidate == string


def random_candidates(rng: random.Random) -> list[Candidate]:
    strings = rng.sample(SHORT, rng.randint(0, 5))
    starts = {rng.choice((1, 2, 3)): rng.sample(SHORT[:40], rng.randint(0, 4)) for _ in range(rng.randint(0, 3))}
    cut = [Start(length, s[:length]) for length, found in starts.items() for s in found]
    return [*strings, *cut, *([Start(2, None)] if rng.random() < 0.3 else [])]


def smallest(classes: TextClasses, string: str | None) -> int:
    """The entry of a string's class: the last of the candidates that hold it, from the largest to the smallest."""
    found = classes.size - 1
    for i, start in enumerate(classes.starts, len(classes.strings) + 1):  # by length
        if holds(start, string):
            found = i
    if string is None:
        return len(classes.strings)
    return classes.strings.index(string) if string in classes.strings else found


@pytest.mark.parametrize("seed", range(60))
def test_a_representative_is_in_its_class_unless_that_is_empty(seed: int) -> None:
    classes = text_classes("w", random_candidates(seeded(seed)))
    found = classes.representatives
    assert len(found) == classes.size
    inhabited = {smallest(classes, s) for s in STRINGS}
    for entry, string in enumerate(found):
        mine = smallest(classes, string)
        if mine != entry:
            assert entry not in inhabited
            assert holds(classes.starts[entry - len(classes.strings) - 1], string)


@pytest.mark.parametrize("seed", range(60))
def test_weights_are_the_sum_of_their_parts(seed: int) -> None:
    rng = seeded(100 + seed)
    classes = text_classes("w", random_candidates(rng))
    weights = np.array([rng.randint(-5, 5) for _ in range(classes.size)])
    lengths = {"w": None, "w[:1]": 1, "w[:2]": 2, "w[:3]": 3}
    for string in STRINGS:
        total = weights[-1]
        for part in classes.parts:
            length = lengths[part.column]
            value = string if length is None or string is None else string[:length]
            for key, entry, parent in zip(part.keys, part.entries, part.parents, strict=True):
                if key == value:
                    total += weights[entry] - weights[parent]
        assert total == weights[smallest(classes, string)], string


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("length", [None, 1, 2, 3])
def test_codes_are_values_that_a_class_shares(seed: int, length: int | None) -> None:
    classes = text_classes("w", random_candidates(seeded(200 + seed)))
    codes, values = classes.codes(length)
    assert values[-1] is None and list(values[:-1]) == sorted(set(values[:-1]))  # type: ignore[type-var]
    members: dict[int, set[str | None]] = {}
    for string in STRINGS:
        value = string if length is None or string is None else string[:length]
        members.setdefault(smallest(classes, string), set()).add(value)
    for entry, found in members.items():
        if codes[entry] >= 0:
            assert found == {values[codes[entry]]}
        else:
            assert entry == classes.size - 1 or entry > len(classes.strings)


def test_entries_are_those_asked_for() -> None:
    classes = text_classes("w", ["a", "b", Start(1, "c"), Start(2, "cd")])
    assert classes.entries(starts=False, other=False).tolist() == [0, 1, 2]
    assert classes.entries(starts=True, other=False).tolist() == [0, 1, 2, 3, 4]
    assert classes.entries(starts=False, other=True).tolist() == [0, 1, 2, 5]


def test_a_representative_goes_on_with_a_character_that_nobody_lists() -> None:
    classes = text_classes("w", ["a", "b", Start(1, "c"), Start(2, "ca"), Start(2, "d"), "cbx"])
    assert classes.representatives == ("a", "b", "cbx", None, "cc", "caa", "d", "e")
