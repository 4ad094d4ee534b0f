"""Which methods of synthesis there are: what each word of ``dpsql synth --method`` stands for. Public.

Another method is a file with a function that keeps ``dpsql.synthesis.task.Method`` and one line here: from then on the
command, ``Connection.synthesize`` and the comparison know it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpsql.errors import DataError
from dpsql.synthesis.dual_query import OPTIONS as OF_DUAL_QUERY
from dpsql.synthesis.dual_query import check_dual_query, dual_query
from dpsql.synthesis.from_session import from_session
from dpsql.synthesis.graph import OPTIONS as OF_GRAPH
from dpsql.synthesis.graph import check_graph, graph
from dpsql.synthesis.iterative import OPTIONS as OF_ITERATIVE
from dpsql.synthesis.iterative import check_iterative, iterative
from dpsql.synthesis.mwem import OPTIONS as OF_MWEM
from dpsql.synthesis.mwem import check_mwem, mwem
from dpsql.synthesis.task import Method
from dpsql.synthesis.wanted import Check


@dataclass(frozen=True)
class Entry:
    """A method and one line of what it is; ``pays``: whether it asks the private rows, and so spends budget.

    ``options``: the names of what else it may be told. ``check`` says what the method refuses of a table, of what is
    wanted, of the queries it is told and of the ledger's plan, before anything is charged.
    """

    make: Method
    words: str
    pays: bool
    options: tuple[str, ...] = ()
    check: Check = lambda table, wanted, told, plan: None


METHODS: Mapping[str, Entry] = MappingProxyType(
    {
        "session": Entry(
            from_session, "rows of what the session has released already; free after a first look", pays=False
        ),
        "iterative": Entry(
            iterative,
            "queries found wrong are measured and the weights fitted to them",
            True,
            OF_ITERATIVE,
            check_iterative,
        ),
        "mwem": Entry(
            mwem,
            "private multiplicative weights: the worst query of each round is measured",
            True,
            OF_MWEM,
            check_mwem,
        ),
        "graph": Entry(
            graph,
            "for tables of edges: a simple graph that keeps all cuts, from noise on every pair",
            True,
            OF_GRAPH,
            check_graph,
        ),
        "dual-query": Entry(
            dual_query,
            "records that answer, one by one, the queries that the others miss; for many columns",
            True,
            OF_DUAL_QUERY,
            check_dual_query,
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


def check_options(method: str, options: Mapping[str, str]) -> None:
    """DataError for an option that the method does not have, with those that it has; nothing is charged yet."""
    known = method_named(method).options
    for name in options:
        if name not in known:
            listing = f"the options of {method}: {', '.join(known)}" if known else "leave --option out"
            raise DataError(f"{method} has no option {name}" if known else f"{method} has no options", hint=listing)
