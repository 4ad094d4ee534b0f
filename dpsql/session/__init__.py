"""Sessions: the one way of a statement from text to private answer."""

from dpsql.accounting import Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import LedgerError
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy
from dpsql.planning import make_plan
from dpsql.policy import Policy
from dpsql.session.session import Session
from dpsql.sql.public_sql import PublicSql

__all__ = ["Session", "make_plan", "open_session"]


def open_session(engine: Engine, ledger: Ledger, policy: Policy, public: PublicSql, entropy: Entropy) -> Session:
    """A session on an open engine and ledger; the plan that the ledger was created with stays in force.

    LedgerError when that plan is not one of this policy's (epsilon, delta). The session closes engine and ledger.
    """
    plan = Plan.from_json(ledger.header["plan"])
    if (plan.epsilon, plan.delta) != (policy.privacy.epsilon, policy.privacy.delta):
        raise LedgerError(
            "the ledger's plan is for another epsilon or delta", hint="restore the policy that the ledger began with"
        )
    return Session(engine, ledger, policy, plan, public, entropy)
