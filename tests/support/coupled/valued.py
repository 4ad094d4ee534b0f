"""Questions about values, of rows that weigh differently: sums of products, conditions on numbers beside others.

Units have three rows, and one of them stands at the top of all columns: no other changes sums by more.
"""

from collections.abc import Mapping

FINE = 12
"""Columns that make the table wide enough for models of pairs and spare releases."""
_FINE = ", ".join(f"((i * {7 + k} + i // {k + 2}) % 3)::INTEGER AS c{k}" for k in range(FINE))
VALUES_SCHEMA = (
    f"CREATE TABLE orders AS SELECT i // 3 AS who, {_FINE}, (i * 37 % 1000)::DOUBLE / 10 AS amount, "
    "(i * i % 997)::DECIMAL(18, 3) / 7 AS price, i % 6 AS units, (i % 11)::DOUBLE / 10 AS discount, "
    "['a', 'b', 'c', NULL][1 + i % 4] AS kind FROM range(600) t(i)",
    "INSERT INTO orders BY NAME SELECT 990 AS who, 100 AS amount, 150 AS price, 5 AS units, 1 AS discount, 'a' AS kind "
    "FROM range(3)",
)
VALUES_COLUMNS = """\
[tables.orders.columns]
amount = { type = "number", min = 0, max = 100, bins = 5 }
price = { type = "number", edges = [-20, 0, 10, 50, 150] }
units = { type = "integer", min = 0, max = 5 }
discount = { type = "number", min = 0, max = 1, bins = 3 }
kind = { type = "category", values = ["a", "b", "c"] }
""" + "".join(f'c{k} = {{ type = "integer", min = 0, max = 2 }}\n' for k in range(FINE))
VALUES_TEXTS = (
    "SELECT SUM(amount * units) FROM orders",
    "SELECT AVG(price * (1 - discount)) FROM orders WHERE c0 = 1",
    "SELECT kind, SUM(-(amount * units)) FROM orders GROUP BY kind",
    "SELECT SUM(amount * units * discount) FROM orders WHERE amount > 33.5",
    "SELECT SUM(price) FROM orders WHERE amount > 33.5 AND discount < .55",
    "SELECT kind, COUNT(*), AVG(amount) FROM orders WHERE price > 12.5 GROUP BY kind",
    "SELECT COUNT(*) FROM orders WHERE amount > units * 7",
    "SELECT COUNT(*) FROM orders WHERE amount % 10 > 4 AND c1 = 1",
    "SELECT SUM(amount / (1 + units)) FROM orders WHERE units > amount",
    "SELECT SUM(CASE WHEN c2 = 1 THEN amount ELSE price END) FROM orders",
    "SELECT VAR_POP(amount), CORR(amount, units) FROM orders",
)
VALUES_ADDED: Mapping[str, tuple[str, ...]] = {
    "a unit with three rows at the top more": (
        "INSERT INTO orders BY NAME SELECT 4242 AS who, 1e9 AS amount, 150 AS price, 5 AS units, 1 AS discount, "
        "'a' AS kind, 1 AS c0, 1 AS c1 FROM range(3)",
    ),
    "a unit at the top less": ("DELETE FROM orders WHERE who = 990",),
    "a unit with odd rows more": (
        "INSERT INTO orders BY NAME SELECT 4242 AS who, unnest(['nan', '-inf', '50.25']::DOUBLE[]) AS amount, -20 AS "
        "price, unnest([3, NULL, 5]) AS units, unnest([.4, -0.0, 7]::DOUBLE[]) AS discount, 'b' AS kind",
    ),
}
VALUES_REPLACED: Mapping[str, tuple[str, ...]] = {
    "from the top to the bottom": (
        "UPDATE orders SET amount = 0, price = -20, units = 0, discount = 0, kind = 'b' WHERE who = 990",
    ),
    "from the top to nothing": (
        "UPDATE orders SET amount = NULL, price = NULL, units = NULL, discount = NULL, kind = NULL WHERE who = 990",
    ),
}
