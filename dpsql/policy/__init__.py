"""The owner's policy as frozen values (the TOML file is read by ``dpsql.policy_file``)."""

from dpsql.policy.policy import Mechanism, Neighbors, Policy, Privacy, Strategy, WhenSpent

__all__ = ["Mechanism", "Neighbors", "Policy", "Privacy", "Strategy", "WhenSpent"]
