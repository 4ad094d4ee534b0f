"""What the header of a session's ledger says of policy, data and plan, by the rules of the ledger that is there.

A ledger keeps the rules that it was made by. What its header does not name is the rule of versions that did not write
it down, so that every ledger stays readable, and none changes its meaning in silence.
"""

from collections.abc import Mapping
from dataclasses import replace

from dpsql.accounting import Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import SECOND_LEDGER, LedgerError, PolicyError
from dpsql.ledger.known import Known, budget_of, price
from dpsql.ledger.rule_change import rule_changes
from dpsql.policy import RETIRED_STRATEGIES, Policy
from dpsql.policy_file import dump_policy

_LONGEST_RULES = 100_000  # characters; beyond that a ledger keeps only the digest


def ledger_header(policy: Policy, engine: Engine, plan: Plan, stored: Mapping[str, str]) -> dict[str, str]:
    """The header that the ledger must have: a new one's, or one that agrees with ``stored``. LedgerError: none can."""
    return {
        "policy": _policy_digest(policy, stored),
        "engine": engine.name,
        **engine.rules.header(),
        "data": engine.fingerprint(),
        "tables": " ".join(engine.table_fingerprints()),
        "plan": plan.to_json(),
        "row_counts": "declared",
        **_rules(policy),
    }


def as_begun(policy: Policy, stored: Mapping[str, str]) -> Policy:
    """The policy as it was when the ledger with the header ``stored`` began: with the bins that earlier versions made
    of its words, where these are the ledger's. Of a ledger that is another policy's, too: its refusal names what the
    owner changed, and no bins."""
    former = policy.with_former_edges
    if former is None or "policy" not in stored:
        return policy
    known = [former, _measured(former)]
    digests = {d for p in known for d in (p.digest, *p.former_digests, p.retired_digest)}
    if stored["policy"] in digests:
        return former
    changed = [len(rule_changes(stored.get("rules", ""), _rules(p).get("rules", ""))) for p in (former, policy)]
    return former if "rules" in stored and changed[0] < changed[1] else policy


def _policy_digest(policy: Policy, stored: Mapping[str, str]) -> str:
    """A ledger that does not say ``row_counts`` published, under replace-one, all counts that it took for public.

    Nothing is set aside in its plan for measuring them, so it goes on only where its owner declares each of them.
    """
    _check_word(policy, stored)
    measured = _measured(policy)
    if "row_counts" in stored or stored.get("policy") not in {measured.digest, *measured.former_digests}:
        return policy.digest
    undeclared = [name for name in _published_before(policy) if policy.by_name[name.lower()].row_count != "public"]
    if undeclared:
        raise LedgerError(
            f"this ledger published the exact number of rows of {', '.join(undeclared)}, as an earlier version did "
            "under replace-one, and set nothing aside to measure it",
            hint=f'if everybody may know it, and it is no view, add row_count = "public" under '
            f"[tables.{undeclared[0]}]; else begin a second budget with {SECOND_LEDGER}: " + _price(policy, stored),
        )
    return stored["policy"]


def _measured(policy: Policy) -> Policy:
    return replace(policy, tables=tuple(replace(table, row_count="measured") for table in policy.tables))


def _check_word(policy: Policy, stored: Mapping[str, str]) -> None:
    """LedgerError for a ledger that was begun while the policy's word for its strategy ran another one."""
    word = policy.mechanism.strategy
    if policy.retired_digest is not None and stored.get("policy") == policy.retired_digest:
        ran = RETIRED_STRATEGIES[word]
        raise LedgerError(
            f'this ledger was begun by a version in which strategy = "{word}" ran "{ran}"; it is what it says now',
            hint=f'write strategy = "{ran}" to go on with it; else begin a second budget with '
            f"{SECOND_LEDGER}: {_price(policy, stored)}",
        )


def _price(policy: Policy, stored: Mapping[str, str]) -> str:
    budget = budget_of(stored)
    earlier = Known(stored.get("ledger", ""), "", 1, epsilon=None if budget is None else float(budget[0]))
    return price([earlier], float(policy.privacy.epsilon))


def _published_before(policy: Policy) -> tuple[str, ...]:
    """The tables whose row count was published without a word of the owner's."""
    if policy.privacy.neighbors != "replace-one":
        return ()
    return tuple(t.name for t in policy.tables if t.unit is None and all(c.nullable for c in t.columns))


def _rules(policy: Policy) -> dict[str, str]:
    """The policy as text, defaults included: what an owner hears about when it no longer fits its ledger."""
    try:
        text = dump_policy(policy)
    except PolicyError:  # made in Python, with a third of an epsilon
        return {}
    return {"rules": text} if len(text) <= _LONGEST_RULES else {}
