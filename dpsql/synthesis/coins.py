"""The one seeded generator of synthetic tables: for what is made of released numbers, never for a release.

A method's own coins must come out the same when a run goes on in another process, so they are a function of what is
public and recorded.
"""

import json
from hashlib import sha256
from typing import Any

import numpy as np

Coins = np.random.Generator


def digest(*of: Any) -> str:
    """The name, as hex digits, of JSON-able public values.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a1")
    (True, False)
    """
    return sha256(json.dumps(of, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def coins(*of: Any) -> Coins:
    """A generator seeded by JSON-able public values: recorded steps, options, a seed that was given.

    >>> bool(coins("rows", 7).integers(1000) == coins("rows", 7).integers(1000))
    True
    """
    return np.random.default_rng(int(digest(*of), 16))
