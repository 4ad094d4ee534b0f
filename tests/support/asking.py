"""Asking one linear query, or several of one statement, of an ``Asker``: the answers themselves, in order."""

from collections.abc import Sequence

from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.asker import Asker
from dpsql.session.explaining import explanation
from dpsql.session.route import AnsweredBefore, Declared, Measured, Modelled, OwnRelease, SpareRelease, Tested, Untested
from dpsql.sql.statement import Statement

NAMES = {
    AnsweredBefore: "cache",
    Measured: "measurement",
    Declared: "word",
    OwnRelease: "release",
    SpareRelease: "spare",
    Tested: "test",
    Modelled: "model",
    Untested: "uncertified",
}


def ask(asker: Asker, query: LinearQuery) -> Answer:
    """The answer to one query, asked alone."""
    return asker.ask([query])[query.digest]


def ask_all(asker: Asker, queries: Sequence[LinearQuery]) -> list[Answer]:
    """The answers to the queries of one statement."""
    found = asker.ask(queries)
    return [found[q.digest] for q in queries]


def way_of(asker: Asker, query: LinearQuery) -> str:
    """How the query would be answered now, in a word."""
    (way,) = asker.routes([query])
    return NAMES[type(way)]


def how(asker: Asker, query: LinearQuery) -> tuple[str, float | None]:
    """The same with the 95 % error that an explanation shows for it."""
    statement = Statement("", (), None, None)
    (plan,) = explanation(statement, [query], asker).plans
    return plan.source, plan.error
