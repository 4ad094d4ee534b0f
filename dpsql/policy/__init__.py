"""The owner's policy as frozen values (the TOML file is read by ``dpsql.policy_file``).

Everything below the file format works with these values, so that a policy made in Python and one read from TOML are the
same.
"""

from dpsql.policy.cautions import cautions
from dpsql.policy.policy import RETIRED_STRATEGIES, Calibration, Mechanism, Neighbors, Policy, Privacy, WhenSpent

__all__ = ["RETIRED_STRATEGIES", "Calibration", "Mechanism", "Neighbors", "Policy", "Privacy", "WhenSpent", "cautions"]
