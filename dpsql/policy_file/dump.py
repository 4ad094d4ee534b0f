"""A policy written back as TOML, so that reading the text gives an equal policy.

A ledger keeps the policy's text to say later which key was changed; reading the text must therefore give the equal
policy.
"""

from dpsql.domain import TableDomain
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.policy_file.columns import column_line
from dpsql.policy_file.toml_table import exact_decimal, quoted, quoted_key, quoted_list


def dump_policy(policy: Policy) -> str:
    """TOML text with ``parse_policy(dump_policy(p)) == p``.

    Raises PolicyError for what a file cannot hold exactly: an epsilon or delta that is no finite decimal, such as 1/3,
    and columns that are read by their cells.

    >>> from dpsql.policy_file import parse_policy
    >>> policy = parse_policy('''
    ... version = 1
    ... privacy = { epsilon = 0.50, delta = 1e-6 }
    ... [tables.t.columns]
    ... member = { type = "boolean" }
    ... ''')
    >>> print(dump_policy(policy), end="")
    version = 1
    <BLANKLINE>
    [privacy]
    epsilon = 0.5
    delta = 0.000001
    neighbors = "add-remove"
    planned_queries = 100000
    <BLANKLINE>
    [mechanism]
    strategy = "auto"
    when_spent = "uncertified"
    warm_start = 0.96
    error_factor = 1.15
    <BLANKLINE>
    [tables.t]
    [tables.t.columns]
    member = { type = "boolean" }
    """
    lines = ["version = 1", "", *_privacy(policy.privacy), "", *_mechanism(policy.mechanism)]
    for table in policy.tables:
        lines += ["", *_table(table)]
    if policy.public_tables:
        lines += ["", "[public]", f"tables = {quoted_list(policy.public_tables)}"]
    return "\n".join(lines) + "\n"


def _privacy(privacy: Privacy) -> list[str]:
    return [
        "[privacy]",
        f"epsilon = {exact_decimal(privacy.epsilon, 'privacy.epsilon')}",
        f"delta = {exact_decimal(privacy.delta, 'privacy.delta')}",
        f"neighbors = {quoted(privacy.neighbors)}",
        f"planned_queries = {privacy.planned_queries}",
    ]


def _mechanism(mechanism: Mechanism) -> list[str]:
    rounds = [] if mechanism.hard_rounds is None else [f"hard_rounds = {mechanism.hard_rounds}"]
    calibration = [
        f"calibration = {quoted(mechanism.calibration)}",
        f"planned_rows = {mechanism.planned_rows}",
    ]
    return [
        "[mechanism]",
        f"strategy = {quoted(mechanism.strategy)}",
        *rounds,
        f"when_spent = {quoted(mechanism.when_spent)}",
        f"warm_start = {exact_decimal(mechanism.warm_start, 'mechanism.warm_start')}",
        f"error_factor = {exact_decimal(mechanism.error_factor, 'mechanism.error_factor')}",
        *([f"on_demand = {exact_decimal(mechanism.on_demand, 'mechanism.on_demand')}"] if mechanism.on_demand else ()),
        *(calibration if mechanism.calibration != "tight" else ()),  # texts in earlier ledgers have no such line
    ]


def _table(table: TableDomain) -> list[str]:
    name = quoted_key(table.name)
    lines = [f"[tables.{name}]"]
    if table.unit is not None:
        lines += [f"unit = {quoted(table.unit)}", f"max_rows_per_unit = {table.max_rows_per_unit}"]
    if table.row_count == "public":
        lines.append('row_count = "public"')
    if table.joins:
        lines.append(f"joins = {quoted_list(table.joins)}")
    if table.weight != 1:
        lines.append(f"weight = {exact_decimal(table.weight, f'tables.{table.name}.weight')}")
    derived = {d.name: d.sql for d in table.derived}
    return [
        *lines,
        f"[tables.{name}.columns]",
        *(column_line(c, f"tables.{table.name}.columns.{c.name}", derived.get(c.name)) for c in table.columns),
    ]
