"""Which methods of synthesis there are: what each word of ``dpsql synth --method`` stands for. Public.

Another method is a file with a function that keeps ``dpsql.synthesis.task.Method`` and one line here: from then on the
command, ``Connection.synthesize`` and the comparison know it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpsql.domain import TableDomain
from dpsql.errors import DataError
from dpsql.synthesis.dual_query import dual_query
from dpsql.synthesis.from_session import from_session
from dpsql.synthesis.graph import check_graph, graph
from dpsql.synthesis.iterative import iterative
from dpsql.synthesis.mwem import mwem
from dpsql.synthesis.task import Method
from dpsql.synthesis.wanted import Wanted


@dataclass(frozen=True)
class Entry:
    """A method and one line of what it is; ``pays``: whether it asks the private rows, and so spends budget.

    ``check`` says what the method refuses, before anything is charged.
    """

    make: Method
    words: str
    pays: bool
    check: Callable[[TableDomain, Wanted], None] = lambda table, wanted: None


METHODS: Mapping[str, Entry] = MappingProxyType(
    {
        "session": Entry(from_session, "rows of what the session has released already; free", pays=False),
        "iterative": Entry(iterative, "queries found wrong are measured and the weights fitted to them", pays=True),
        "mwem": Entry(mwem, "private multiplicative weights: the worst query of each round is measured", pays=True),
        "graph": Entry(
            graph,
            "for tables of edges: a simple graph that keeps all cuts, from noise on every pair",
            True,
            check_graph,
        ),
        "dual-query": Entry(
            dual_query, "records that answer, one by one, the queries that the others miss; for many columns", pays=True
        ),
    }
)
"""By the word that is written."""


def method_named(word: str) -> Entry:
    """What ``word`` stands for. DataError with the list of those that exist.

    >>> method_named("session").pays
    False
    """
    known = METHODS.get(word)
    if known is None:
        raise DataError(f"there is no method {word!r}", hint="methods: " + ", ".join(METHODS))
    return known
