"""The strings of a text column, cut into finitely many classes by the candidates that a statement lists.

A candidate is a string, or a ``Start``: all strings with the same first characters. Candidates are nested or disjoint,
so every string has a smallest one that holds it; strings with the same smallest one form a class, and those that no
candidate holds the class *other*. A predicate that is settled by the candidates is the same on all of a class.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpsql.domain import Prefix, Value
from dpsql.errors import UnsupportedQuery

Indices = npt.NDArray[np.intp]


class Start(NamedTuple):
    """All strings whose first ``length`` characters are ``string``; NULL alone for ``None``.

    A ``string`` that is shorter than ``length`` holds itself alone.
    """

    length: int
    string: str | None


Candidate = str | Start
Candidates = Mapping[str, frozenset[Candidate]]


class TextPart(NamedTuple):
    """Candidates that are counted by the keys of one text column, declared or derived.

    ``entries`` are their classes' positions on the axis, ``parents`` those of the next larger candidates' classes.
    """

    column: str
    keys: tuple[str | None, ...]
    entries: Indices
    parents: Indices


@dataclass(frozen=True, eq=False)
class TextClasses:
    """The classes of one text column in the order of its axis: strings, NULL, starts, other."""

    column: str
    strings: tuple[str, ...]
    starts: tuple[Start, ...]

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[Start, ...]]:
        return self.strings, self.starts

    @property
    def size(self) -> int:
        return len(self.strings) + len(self.starts) + 2

    @cached_property
    def representatives(self) -> tuple[str | None, ...]:
        """One string (or NULL) of each class; any string of the candidate where the class is empty."""
        if not self.starts:
            return (*self.strings, None, other_string(self.strings))
        following: dict[int, set[str]] = {i: set() for i in range(self.size)}
        candidates: list[Candidate] = [*self.strings, *self.starts]
        for candidate, parent in zip(candidates, self._parents, strict=True):
            string = candidate.string if isinstance(candidate, Start) else candidate
            at = 0 if parent == self.size - 1 else self._start(parent).length
            following[parent].add((string or "")[at : at + 1])
        first = len(self.strings) + 1
        out: list[str | None] = [*self.strings, None]
        for i, (length, string) in enumerate(self.starts, first):
            whole = string is None or len(string) < length
            out.append(string if whole else f"{string}{_unused(following[i])}")
        return (*out, _unused(following[self.size - 1]))

    def _start(self, entry: int) -> Start:
        return self.starts[entry - len(self.strings) - 1]

    @cached_property
    def _parents(self) -> tuple[int, ...]:
        """For each string, then each start: the entry of the smallest start around it, or of *other*."""
        first, other = len(self.strings) + 1, self.size - 1
        index = {s: i for i, s in enumerate(self.starts, first)}
        lengths = sorted({s.length for s in self.starts}, reverse=True)

        def around(string: str | None, below: int) -> int:
            for length in lengths:
                found = index.get(Start(length, _cut(string, length))) if length < below else None
                if found is not None:
                    return found
            return other

        longest = max(lengths, default=0) + 1
        return (*(around(s, longest) for s in self.strings), *(around(s.string, s.length) for s in self.starts))

    @cached_property
    def parts(self) -> tuple[TextPart, ...]:
        """One part for the strings and NULL, then one for each length of starts."""
        count = len(self.strings)
        other = self.size - 1
        null = max((s for s in self.starts if s.string is None), default=None)
        parent_of_null = other if null is None else count + 1 + self.starts.index(null)
        parents = np.array([*self._parents[:count], parent_of_null] if self.starts else [other] * (count + 1))
        out = [TextPart(self.column, (*self.strings, None), np.arange(count + 1), parents)]
        for length in sorted({s.length for s in self.starts}):
            chosen = [i for i, s in enumerate(self.starts) if s.length == length]
            out.append(
                TextPart(
                    Prefix(self.column, length).name,
                    tuple(self.starts[i].string for i in chosen),
                    np.array(chosen) + count + 1,
                    np.array([self._parents[count + i] for i in chosen]),
                )
            )
        return tuple(out)

    def entries(self, *, starts: bool, other: bool) -> Indices:
        """Positions on the axis: strings and NULL always, the rest if asked for."""
        count = len(self.strings) + 1
        chosen = [*range(count), *(range(count, self.size - 1) if starts else ()), *((self.size - 1,) if other else ())]
        return np.array(chosen, dtype=np.intp)

    def codes(self, length: int | None) -> tuple[npt.NDArray[np.int64], tuple[Value, ...]]:
        """The classes on which the column, or its first ``length`` characters, has one value; -1 for the others.

        Returns an index into the values for each class, and the values: sorted, NULL last.
        """
        found: list[tuple[str | None] | None] = []
        found += [(_cut(string, length),) for string in (*self.strings, None)]
        for start in self.starts:
            whole = start.string is None or len(start.string) < start.length
            if whole or (length is not None and length <= start.length):
                found.append((_cut(start.string, length),))
            else:
                found.append(None)
        found.append(None)
        strings = {f[0] for f in found if f is not None and f[0] is not None}
        values: tuple[str | None, ...] = (*sorted(strings), None)
        index = {v: i for i, v in enumerate(values)}
        return np.array([-1 if f is None else index[f[0]] for f in found], dtype=np.int64), values


def text_classes(column: str, candidates: Iterable[Candidate]) -> TextClasses:
    """The classes of a text column."""
    listed = frozenset(candidates)
    starts = [c for c in listed if isinstance(c, Start)]
    strings = sorted(c for c in listed if isinstance(c, str))
    ordered = sorted(starts, key=lambda s: (s.length, s.string is None, s.string or ""))
    return TextClasses(column, tuple(strings), tuple(ordered))


def other_string(strings: Iterable[str]) -> str:
    """A string that is none of ``strings``.

    >>> other_string(["other", "x"])
    'other_'
    """
    taken = set(strings)
    out = "other"
    while out in taken:
        out += "_"
    return out


def _unused(characters: Iterable[str]) -> str:
    """A character that is none of ``characters``."""
    taken = set(characters)
    free = (c for c in map(chr, chain(range(ord("a"), 0xD800), range(0xE000, 0x110000))) if c not in taken)
    found = next(free, None)
    if found is None:
        raise UnsupportedQuery("the lists of strings name every character", hint="ask in several parts")
    return found


def _cut(string: str | None, length: int | None) -> str | None:
    return None if string is None else string[:length]
