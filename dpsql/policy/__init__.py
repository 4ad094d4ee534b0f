"""The owner's policy as frozen values (the TOML file is read by ``dpsql.policy_file``)."""

from dpsql.policy.policy import RETIRED_STRATEGIES, Mechanism, Neighbors, Policy, Privacy, WhenSpent

__all__ = ["RETIRED_STRATEGIES", "Mechanism", "Neighbors", "Policy", "Privacy", "WhenSpent"]
