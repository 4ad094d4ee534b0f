"""The configurations in which coupled sessions are compared, and the neighbours of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from tests.support import city, walk
from tests.support.coupled.run import Script
from tests.support.coupled.valued import VALUES_ADDED, VALUES_COLUMNS, VALUES_REPLACED, VALUES_SCHEMA, VALUES_TEXTS

ROWS = 600
NOTHING = ("SELECT LIST(age) FROM people", "SELECT COUNT(*) FROM people WHERE salary > 3", "SELECT nonsense")
PEOPLE = (
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE age >= 5 AND member",
    "SELECT COUNT(*) FROM people WHERE region = 'north' OR age = 9 OR hours IS NULL",
    "SELECT region, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY region ORDER BY n DESC",
    "SELECT COUNT(*) FROM people WHERE name = 'name3'",
    "SELECT COUNT(*) FROM people WHERE name IN ('name1', 'only here') AND member",
    "SELECT name, COUNT(*) AS n FROM people GROUP BY name ORDER BY n DESC, name LIMIT 5",
    "SELECT year(joined) AS y, member, SUM(hours) AS h FROM people GROUP BY ALL",
    "SELECT 100.0 * COUNT(*) FILTER (WHERE member) / COUNT(*) AS percent FROM people",
    "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM people WHERE joined IS NULL",
    "SELECT COUNT(*) FROM people WHERE hours >= 20 AND age IS NULL",
    "SELECT COUNT(*) FROM people WHERE hours > 25",
    "SELECT region, COUNT(*), AVG(hours) FROM people WHERE hours BETWEEN 15 AND 50 GROUP BY region",
    "WITH g AS (SELECT age, COUNT(*) AS n FROM people GROUP BY age) SELECT MAX(n), SUM(n) FROM g",
    "SELECT region, n / SUM(n) OVER () FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region)",
    "SELECT COUNT(*) FROM people WHERE age > 10000",
)
VISITS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT kind, SUM(day) AS s, COUNT(*) AS n FROM visits GROUP BY kind",
    "SELECT COUNT(*) FROM visits WHERE place = 'place7' AND day < 3",
    "SELECT COUNT(*) FROM visits WHERE place IN ('place1', 'lair') OR kind IS NULL",
    "SELECT place, COUNT(*) AS n FROM visits GROUP BY place ORDER BY ALL",
    "SELECT day, AVG(day) FROM visits WHERE kind = 'walk' GROUP BY day",
)
TEXTS = (*PEOPLE[:8], *VISITS, *PEOPLE[8:], *NOTHING, PEOPLE[1])
"""Few enough that a configuration takes a second or two, and of every kind; the last is asked twice."""

LAIR = "INSERT INTO visits SELECT 990, 3, 'walk', 'lair', NULL FROM range(2)"
"""A unit all of whose rows are alike: no other changes counts by more."""
SCHEMA = (city.SCHEMA, city.ROWS.format(rows=ROWS), LAIR)

ADDED_OR_REMOVED: Mapping[str, tuple[str, ...]] = {
    "a row more": ("INSERT INTO people VALUES (5, true, 'north', '2020-05-05', 33, 'only here', NULL, NULL)",),
    "a row less": ("DELETE FROM people WHERE rowid = 17",),
    "a row of NULLs": ("INSERT INTO people VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",),
    "a row out of all domains": (
        "INSERT INTO people VALUES (-7, NULL, 'nowhere', '1999-09-09', 'nan', '', NULL, NULL)",
    ),
    "a unit with two rows alike more": ("INSERT INTO visits SELECT 424242, 1, 'talk', 'den', NULL FROM range(2)",),
    "a unit with two rows alike less": ("DELETE FROM visits WHERE person = 990",),
    "a unit with eight rows more": (
        "INSERT INTO visits SELECT 424242, 1, 'walk', 'den' || i, NULL FROM range(8) t(i)",
    ),
    "a unit with two places more": ("INSERT INTO visits VALUES (4242, 1, 'walk', 'a', ''), (4242, 2, NULL, 'b', '')",),
    "a person in both tables": ("DELETE FROM people WHERE rowid = 3", "DELETE FROM visits WHERE person = 990"),
    "the NULL unit": ("INSERT INTO visits SELECT NULL, 7, 'talk', 'place1', NULL FROM range(5)",),
}
REPLACED: Mapping[str, tuple[str, ...]] = {
    "another row": (
        "DELETE FROM people WHERE rowid = 17",
        "INSERT INTO people VALUES (5, true, 'west', '2021-12-31', 79, 'only here', NULL, NULL)",
    ),
    "a row becomes NULLs": (
        "UPDATE people SET age = NULL, member = NULL, region = NULL, joined = NULL, hours = NULL, name = NULL "
        "WHERE rowid = 20",
    ),
    "a unit with other rows": ("UPDATE visits SET day = 6, kind = 'talk', place = 'den' WHERE person = 990",),
    "a unit with many rows": (
        "DELETE FROM visits WHERE person = 990",
        "INSERT INTO visits SELECT 990, 1 + i, NULL, 'den', NULL FROM range(7) t(i)",
    ),
    "in both tables": (
        "UPDATE people SET age = 1, name = 'only here' WHERE rowid = 3",
        "UPDATE visits SET day = 6, kind = 'talk', place = 'den' WHERE person = 990",
    ),
}


@dataclass(frozen=True)
class Configuration:
    """``unseen``: neighbours in whose counted rows nothing differs."""

    script: Script
    neighbours: Mapping[str, tuple[str, ...]]
    unseen: tuple[str, ...] = ()


def _city(privacy: str = "", mechanism: str = "", *, replaced: bool = False, hard: float = 0.3) -> Configuration:
    relation = 'neighbors = "replace-one"\n' if replaced else ""
    policy = city.policy_text(f"{city.PRIVACY}{privacy}{relation}", mechanism)
    return Configuration(Script(policy, SCHEMA, TEXTS, hard), REPLACED if replaced else ADDED_OR_REMOVED)


# --- many columns --------------------------------------------------------------------------------------------------

COLUMNS = 16
UNIT_ROWS = 3
WIDE_SCHEMA = (
    "CREATE TABLE wide AS SELECT r // 4 AS u, "
    + ", ".join(f"((r * {7 + i} + r // {i + 2}) % 3)::INTEGER AS c{i}" for i in range(COLUMNS))
    + f" FROM range({ROWS}) t(r)",
    f"INSERT INTO wide SELECT 990{', 1' * COLUMNS} FROM range({UNIT_ROWS})",
)
_WIDE_COLUMNS = "[tables.wide.columns]\n" + "".join(
    f'c{i} = {{ type = "integer", min = 0, max = 2 }}\n' for i in range(COLUMNS)
)
WIDE_TEXTS = (
    "SELECT COUNT(*) FROM wide WHERE c0 = 1",
    "SELECT c1, c2, COUNT(*) FROM wide GROUP BY ALL",
    "SELECT COUNT(*) FROM wide WHERE c0 = 1 AND c3 = 2 AND c5 <> 0",
    "SELECT SUM(c4 * c6), AVG(c7) FROM wide WHERE c8 IS NOT NULL",
    "SELECT COUNT(*) FROM wide WHERE c0 = 1 AND c1 = 1 OR c2 IS NULL",
    "SELECT c9 FROM wide",
)
WIDE_ADDED = {
    "a row more": (f"INSERT INTO wide VALUES (4242{', 1' * COLUMNS})",),
    "a row less": ("DELETE FROM wide WHERE rowid = 5",),
}
WIDE_REPLACED = {
    "another row": (f"UPDATE wide SET {', '.join(f'c{i} = (c{i} + 1) % 3' for i in range(COLUMNS))} WHERE rowid = 5",)
}
WIDE_UNIT_ADDED = {
    "a unit with three rows alike more": (f"INSERT INTO wide SELECT 4242{', 2' * COLUMNS} FROM range({UNIT_ROWS})",),
    "a unit with three rows alike less": ("DELETE FROM wide WHERE u = 990",),
    "a unit with four rows less": ("DELETE FROM wide WHERE u = 7",),
}
WIDE_UNIT_REPLACED = {
    "a unit with other rows": (f"UPDATE wide SET {', '.join(f'c{i} = 2' for i in range(COLUMNS))} WHERE u = 990",)
}


def _wide(neighbours: Mapping[str, tuple[str, ...]], privacy: str = "", unit: str = "") -> Configuration:
    policy = f"version = 1\n[privacy]\n{city.PRIVACY}{privacy}[tables.wide]\n{unit}{_WIDE_COLUMNS}"
    return Configuration(Script(policy, WIDE_SCHEMA, WIDE_TEXTS), neighbours)


def _on_demand(neighbours: Mapping[str, tuple[str, ...]], privacy: str = "") -> Configuration:
    """All counts with bounds of their own, until what was set aside for them is spent."""
    words = f"version = 1\n[privacy]\n{city.PRIVACY}{privacy}[mechanism]\non_demand = 0.6\n"
    policy = f"{words}[tables.wide]\n{IN_UNITS}{_WIDE_COLUMNS}"
    return Configuration(Script(policy, WIDE_SCHEMA, WIDE_TEXTS, within=100.0), neighbours)


# --- questions about values, of rows that weigh differently ---------------------------------------------------------


def _values(neighbours: Mapping[str, tuple[str, ...]], privacy: str = "", mechanism: str = "") -> Configuration:
    unit = 'unit = "who"\nmax_rows_per_unit = 3\n'
    told = f"version = 1\n[privacy]\n{city.PRIVACY}{privacy}[mechanism]\n{mechanism}"
    return Configuration(
        Script(f"{told}[tables.orders]\n{unit}{VALUES_COLUMNS}", VALUES_SCHEMA, VALUES_TEXTS), neighbours
    )


# --- strings alone, and what is dropped ----------------------------------------------------------------------------

KEYS_SCHEMA = (
    "CREATE TABLE calls AS SELECT i // 3 AS person, 'n' || (i % 7 * (i % 2)) AS name FROM range(600) t(i)",
    "INSERT INTO calls SELECT 990, 'lair' FROM range(2)",
)
KEYS_POLICY = (
    f'version = 1\n[privacy]\n{city.PRIVACY}[tables.calls]\nunit = "person"\nmax_rows_per_unit = 2\n'
    '[tables.calls.columns]\nname = { type = "text", prefixes = [1, 2] }\n'
)
KEYS_TEXTS = (
    "SELECT COUNT(*) FROM calls",
    "SELECT COUNT(*) FROM calls WHERE name IN ('n1', 'lair', 'den')",
    "SELECT name, COUNT(*) FROM calls GROUP BY name",
    "SELECT left(name, 2) AS begin, COUNT(*) FROM calls GROUP BY begin",
    "SELECT COUNT(*) FROM calls WHERE name LIKE 'l%' OR name IS NULL",
)
KEYS_ADDED = {
    "a unit with one string": ("INSERT INTO calls SELECT 4242, 'den' FROM range(2)",),
    "a unit with two strings": ("INSERT INTO calls VALUES (4242, 'den'), (4242, 'cave')",),
    "a unit less": ("DELETE FROM calls WHERE person = 990",),
    "a unit of NULLs": ("INSERT INTO calls SELECT 4242, NULL FROM range(9)",),
}
FALSE_WORD = (
    f"version = 1\n[privacy]\n{city.PRIVACY}[tables.calls]\nunit = 'person'\nmax_rows_per_unit = 2\n"
    "[tables.calls.columns]\nname = { type = 'text', max_rows_per_value = 5, prefixes = [2] }\n"
)
"""Strings that are in many more rows than their owner says."""
FALSE_WORD_TEXTS = (
    "SELECT COUNT(*) FROM calls WHERE name = 'lair'",
    "SELECT COUNT(*) FROM calls WHERE name IN ('n1', 'lair', 'den')",
    *KEYS_TEXTS,
    f"SELECT COUNT(*) FROM calls WHERE name IN ({', '.join(repr(f'n{i}') for i in range(600))}, 'lair', 'den')",
    "SELECT COUNT(*) FROM calls WHERE name <> 'den'",
    "SELECT COUNT(DISTINCT name) FROM calls",
    "SELECT name, COUNT(*) FROM calls WHERE name IN ('lair', 'den', 'n1') GROUP BY name",
)
NO_KEYS_SCHEMA = (KEYS_SCHEMA[0], "DELETE FROM calls")
NO_KEYS_ADDED = {
    "a unit with one string": KEYS_ADDED["a unit with one string"],
    "a unit of NULLs": KEYS_ADDED["a unit of NULLs"],
}
FILLED_SCHEMA = (
    "CREATE TABLE filled AS SELECT i % 10 AS age, i % 3 = 0 AS member, (i * i) % 75 AS hours FROM range(600) t(i)",
)
FILLED_COLUMNS = """\
[tables.filled.columns]
age = { type = "integer", min = 0, max = 9, nullable = NULLABLE }
member = { type = "boolean", nullable = NULLABLE }
hours = { type = "number", min = 0, max = 80, bins = 4 }
"""
FILLED_TEXTS = (
    "SELECT COUNT(*) FROM filled",
    "SELECT member, COUNT(*), AVG(age) FROM filled GROUP BY member",
    "SELECT SUM(hours) FROM filled",
    "SELECT SUM(hours) FROM filled WHERE age > 2",
    "SELECT COUNT(*) FROM filled WHERE age IS NULL",
)
FILLED_ADDED = {
    "a row more": ("INSERT INTO filled VALUES (1, true, 70)",),
    "a dropped row more": ("INSERT INTO filled VALUES (NULL, true, 70)",),
    "an undeclared row more": ("INSERT INTO filled VALUES (100, true, 70)",),
}
FILLED_UNSEEN = ("a dropped row more", "an undeclared row more")
FILLED_REPLACED = {
    "another row": ("UPDATE filled SET age = 9 - age, member = NOT member, hours = 79 WHERE rowid = 3",),
    "a row of NULLs": ("UPDATE filled SET age = NULL, member = NULL, hours = NULL WHERE rowid = 3",),
}


# --- units that a collation takes for one ----------------------------------------------------------------------------

COLLATED_SCHEMA = (
    "CREATE TABLE stays (person VARCHAR COLLATE NOCASE, day INTEGER, kind VARCHAR)",
    "INSERT INTO stays SELECT 'p' || (i // 2), 1 + i % 7, 'walk' FROM range(200) t(i)",
    "INSERT INTO stays SELECT 'q' || (i // 2), 1, 'walk' FROM range(12) t(i)",
)
COLLATED_POLICY = (
    f'version = 1\n[privacy]\n{city.PRIVACY}[tables.stays]\nunit = "person"\nmax_rows_per_unit = 2\n'
    '[tables.stays.columns]\nday = { type = "integer", min = 1, max = 7 }\n'
    'kind = { type = "category", values = ["walk", "talk"] }\n'
)
COLLATED_TEXTS = ("SELECT day, kind, COUNT(*) FROM stays GROUP BY ALL", "SELECT COUNT(*) FROM stays WHERE day = 1")
COLLATED_ADDED = {
    f"a unit Q{i} beside q{i}": (f"INSERT INTO stays SELECT 'Q{i}', 7, 'talk' FROM range(2)",) for i in range(6)
}


# --- different values -----------------------------------------------------------------------------------------------

HELD_SCHEMA = (
    "CREATE TABLE held AS SELECT i // 3 AS who, 1 + i % 7 AS day, ['walk', 'talk'][1 + i % 2] AS kind, "
    "'p' || (i % 20) AS place FROM range(300) t(i)",
    "INSERT INTO held VALUES (990, 1, 'walk', 'lair'), (990, 2, 'talk', 'den')",
)
HELD_COLUMNS = """\
[tables.held]
unit = "who"
max_rows_per_unit = 2
[tables.held.columns]
day = { type = "integer", min = 1, max = 7 }
kind = { type = "category", values = ["walk", "talk"] }
place = { type = "text" }
"""
HELD_TEXTS = (
    "SELECT COUNT(DISTINCT who) FROM held",
    "SELECT kind, COUNT(DISTINCT who) AS n, COUNT(*) FROM held GROUP BY kind ORDER BY n",
    "SELECT day, COUNT(DISTINCT who) FILTER (WHERE kind = 'walk') FROM held GROUP BY day",
    "SELECT COUNT(DISTINCT place) FROM held WHERE kind = 'walk'",
    "SELECT kind, COUNT(DISTINCT place) FROM held WHERE day < 5 GROUP BY kind",
    "SELECT COUNT(DISTINCT who) FROM held WHERE place IN ('lair', 'den')",
    "SELECT COUNT(DISTINCT place) FROM held",
    "SELECT n, COUNT(*) FROM (SELECT who, COUNT(*) AS n FROM held WHERE day < 5 GROUP BY who) GROUP BY n",
    "SELECT kind, AVG(n) FROM (SELECT who, kind, COUNT(*) AS n FROM held GROUP BY ALL) GROUP BY kind",
    "SELECT COUNT(*) FROM (SELECT who FROM held GROUP BY who HAVING COUNT(*) > 1)",
    "SELECT COUNT(DISTINCT who) FROM held",
)
HELD_ADDED = {
    "a unit with two rows alike more": ("INSERT INTO held SELECT 4242, 1, 'walk', 'den' FROM range(2)",),
    "a unit in two places less": ("DELETE FROM held WHERE who = 990",),
    "a unit with eight rows more": ("INSERT INTO held SELECT 4242, 1, 'walk', 'den' || i FROM range(8) t(i)",),
    "the NULL unit": ("INSERT INTO held SELECT NULL, 7, 'talk', 'p1' FROM range(5)",),
}
HELD_REPLACED = {
    "a unit with other rows": ("UPDATE held SET day = day + 4, kind = NULL, place = 'cave' || day WHERE who = 990",),
    "another unit with other rows": (
        "DELETE FROM held WHERE who = 990",
        "INSERT INTO held VALUES (991, 5, 'talk', 'a'), (991, 5, 'talk', 'b')",
    ),
}


def _held(neighbours: Mapping[str, tuple[str, ...]], privacy: str = "") -> Configuration:
    policy = f"version = 1\n[privacy]\n{city.PRIVACY}{privacy}{HELD_COLUMNS}"
    return Configuration(Script(policy, HELD_SCHEMA, HELD_TEXTS), neighbours)


def _filled(
    neighbours: Mapping[str, tuple[str, ...]], privacy: str, table: str, nullable: str, mechanism: str = ""
) -> Configuration:
    columns = FILLED_COLUMNS.replace("NULLABLE", nullable)
    policy = f"version = 1\n[privacy]\n{city.PRIVACY}{privacy}[mechanism]\n{mechanism}{table}{columns}"
    return Configuration(Script(policy, FILLED_SCHEMA, FILLED_TEXTS), neighbours, FILLED_UNSEEN)


# --- views and several tables --------------------------------------------------------------------------------------

VIEWS_SCHEMA = (
    "CREATE TABLE everybody AS SELECT i AS id, i % 10 AS age, i % 3 = 0 AS member FROM range(500) t(i)",
    "CREATE TABLE trips AS SELECT i AS id, i % 7 AS day FROM range(0, 500, 2) t(i)",
    "CREATE VIEW adults AS SELECT * FROM everybody WHERE age >= 5",
    "CREATE VIEW travellers AS SELECT age, member FROM everybody JOIN trips USING (id)",
)
_PERSON = 'age = { type = "integer", min = 0, max = 9 }\nmember = { type = "boolean" }\n'
VIEWS = (
    f"[tables.adults.columns]\n{_PERSON}[tables.travellers.columns]\n{_PERSON}"
    f"[tables.everybody.columns]\n{_PERSON}"
    '[tables.trips.columns]\nday = { type = "integer", min = 0, max = 6 }\n'
)
VIEWS_TEXTS = (
    *(f"SELECT COUNT(*) FROM {name}" for name in ("adults", "travellers", "everybody", "trips")),
    *(f"SELECT age, COUNT(*) FROM {name} WHERE member GROUP BY age" for name in ("adults", "travellers", "everybody")),
    "SELECT AVG(day) FROM trips",
    "SELECT COUNT(*) FROM trips WHERE 1 = 1",
    "SELECT (SELECT COUNT(*) FROM adults) * 100.0 / (SELECT COUNT(*) FROM everybody) AS percent",
)
VIEWS_NEIGHBOURS = {
    "an adult becomes a child": ("UPDATE everybody SET age = 1 WHERE id = 17",),
    "a traveller becomes another person": ("UPDATE everybody SET id = 1001 WHERE id = 16",),
    "one without a trip": ("UPDATE everybody SET age = 3 WHERE id = 16", "DELETE FROM trips WHERE id = 16"),
    "one with a trip": ("UPDATE everybody SET age = 9 WHERE id = 15", "INSERT INTO trips VALUES (15, 6)"),
}


def _views(mechanism: str = "", privacy: str = "") -> Configuration:
    policy = (
        f'version = 1\n[privacy]\n{city.PRIVACY}{privacy}neighbors = "replace-one"\n[mechanism]\n{mechanism}{VIEWS}'
    )
    return Configuration(Script(policy, VIEWS_SCHEMA, VIEWS_TEXTS), VIEWS_NEIGHBOURS)


# --- cuts of a graph, whose grid of vertices is not counted cell by cell ---------------------------------------------

GRAPH_SCHEMA = (
    "CREATE TABLE ways AS SELECT least(i, j) AS edge, i * 11 % 1100 AS src, j * 7 % 1100 AS dst "
    f"FROM (SELECT r AS i, r * 13 % 900 AS j FROM range({ROWS}) t(r))",
    "INSERT INTO ways SELECT 990, 5, 7 FROM range(2)",
)
GRAPH_POLICY = (
    f'version = 1\n[privacy]\n{city.PRIVACY}[mechanism]\nstrategy = "frieze-kannan"\n'
    '[tables.ways]\nunit = "edge"\nmax_rows_per_unit = 2\n[tables.ways.columns]\n'
    'src = { type = "integer", min = 0, max = 1099 }\ndst = { type = "integer", min = 0, max = 1099 }\n'
)
GRAPH_TEXTS = (
    "SELECT COUNT(*) FROM ways",
    "SELECT COUNT(*) FROM ways WHERE src < 500 AND dst >= 300",
    "SELECT COUNT(*) FROM ways WHERE src IN (1, 5, 6, 7) AND dst % 2 = 1",
    "SELECT COUNT(*) FILTER (WHERE src < 9 AND dst > 5) + COUNT(*) FILTER (WHERE src > 5 AND dst < 9) FROM ways",
    "SELECT dst, COUNT(*) FROM ways WHERE src < 8 AND dst IN (3, 7, 11) GROUP BY dst",
    "SELECT SUM(src) FROM ways WHERE dst < 40",
)
GRAPH_NEIGHBOURS = {
    "an edge in both orders more": ("INSERT INTO ways VALUES (4242, 5, 7), (4242, 7, 5)",),
    "an edge with two rows alike less": ("DELETE FROM ways WHERE edge = 990",),
}

VERTICES = 8
PATHS_SCHEMA = (
    f"CREATE TABLE paths AS SELECT i AS who, i % {VERTICES} AS src, i * 3 % {VERTICES} AS dst FROM range(40) t(i)",
    "INSERT INTO paths VALUES (990, 0, 1), (990, 5, 2)",
)
PATHS = '[tables.paths]\nunit = "who"\nmax_rows_per_unit = 2\n[tables.paths.columns]\n' + "".join(
    f'{c} = {{ type = "integer", min = 0, max = {VERTICES - 1}, nullable = false }}\n' for c in ("src", "dst")
)
PATHS_ADDED = {
    "two edges more": ("INSERT INTO paths VALUES (4242, 1, 4), (4242, 7, 6)",),
    "an edge in both orders more": ("INSERT INTO paths VALUES (4242, 1, 4), (4242, 4, 1)",),
    "two edges less": ("DELETE FROM paths WHERE who = 990",),
}
PATHS_REPLACED = {
    "two edges for others": ("UPDATE paths SET src = src + 1, dst = (dst + 3) % 8 WHERE who = 990",),
}

FEW, SOME = "planned_queries = 3\n", "planned_queries = 15\n"
PMW = 'strategy = "pmw"\n'
TEXTBOOK, SPARSE, MEDIAN = (f'strategy = "{word}"\n' for word in ("textbook-pmw", "sparse-pmw", "median"))
PAPER = 'calibration = "paper"\nhard_rounds = 9\n'
EXCHANGED = 'neighbors = "replace-one"\n'
IN_UNITS = f'unit = "u"\nmax_rows_per_unit = {UNIT_ROWS}\n'
PUBLIC = '[tables.filled]\nrow_count = "public"\n'


def _synthetic(table: str) -> Configuration:
    """Synthetic tables before the questions: what the session knows as rows, and noise and a choice that are paid."""
    chosen = _only(4, _city(mechanism=PMW, hard=0.15))
    paid = {"table": table, "method": walk.NAME, "epsilon": "0.5", "rows": 40, "choice": "1/20"}
    free = {"table": table, "rows": 40, "workload": "marginals:1"}
    return replace(chosen, script=replace(chosen.script, texts=TEXTS[:6], synthetic=(paid, free, paid)))


def _by_method(replaced: bool, **asked: Any) -> Configuration:
    """A synthetic table of a small graph, whose units have two edges."""
    policy = f"version = 1\n[privacy]\n{city.PRIVACY}{EXCHANGED if replaced else ''}{PATHS}"
    made = {"table": "paths", "epsilon": "0.3", "keeps_first_look": False, **asked}
    script = Script(policy, PATHS_SCHEMA, ("SELECT COUNT(*) FROM paths WHERE src < 4",), 0.9, synthetic=(made,))
    return Configuration(script, PATHS_REPLACED if replaced else PATHS_ADDED)


def _only(number: int, chosen: Configuration) -> Configuration:
    """With its first neighbours alone."""
    return replace(chosen, neighbours=dict(list(chosen.neighbours.items())[:number]))


def _these(names: Sequence[str], chosen: Configuration) -> Configuration:
    """With these of its neighbours alone."""
    return replace(chosen, neighbours={name: chosen.neighbours[name] for name in names})


DUAL = {"method": "dual-query", "workload": "marginals:1", "rounds": 3, "samples": 4}
WITH_SOLVER: Mapping[str, Configuration] = {
    "dual-query": _by_method(False, **DUAL),
    "dual-query, replace-one": _by_method(True, **DUAL),
}
CONFIGURATIONS: Mapping[str, Configuration] = {
    "auto": _city(),
    "pmw": _only(6, _city(mechanism=PMW, hard=0.15)),
    "refused when spent": _only(4, _city(mechanism='when_spent = "refuse"\nhard_rounds = 3\n', hard=0.5)),
    "synthetic tables": _synthetic("people"),
    "replace-one": _city(replaced=True),
    "replace-one, pmw": _city(mechanism=PMW, replaced=True, hard=0.15),
    "wide": _wide(WIDE_ADDED),
    "wide, replace-one": _wide(WIDE_REPLACED, EXCHANGED),
    "wide, units": _wide(WIDE_UNIT_ADDED, unit=IN_UNITS),
    "wide, units, replace-one": _wide(WIDE_UNIT_REPLACED, EXCHANGED, IN_UNITS),
    "own noise": _wide(WIDE_ADDED, FEW),
    "own noise, replace-one": _wide(WIDE_REPLACED, EXCHANGED + FEW),
    "own noise, units": _wide(WIDE_UNIT_ADDED, FEW, IN_UNITS),
    "own noise, units, replace-one": _wide(WIDE_UNIT_REPLACED, EXCHANGED + FEW, IN_UNITS),
    "own noise on demand": _only(1, _on_demand(WIDE_UNIT_ADDED)),
    "own noise on demand, replace-one": _on_demand(WIDE_UNIT_REPLACED, EXCHANGED),
    "values": _values(VALUES_ADDED),
    "values, pmw": _values(VALUES_ADDED, mechanism=PMW),
    "values, replace-one": _values(VALUES_REPLACED, EXCHANGED),
    "values, own noise, replace-one": _values(VALUES_REPLACED, EXCHANGED + "planned_queries = 20\n"),
    "listed spares": _these(("a row more", "a unit with two rows alike less"), _city(SOME)),
    "listed spares, replace-one": _these(("another row", "a unit with other rows"), _city(SOME, replaced=True)),
    "strings alone": Configuration(Script(KEYS_POLICY, KEYS_SCHEMA, KEYS_TEXTS), KEYS_ADDED),
    "no strings": Configuration(Script(KEYS_POLICY, NO_KEYS_SCHEMA, KEYS_TEXTS), NO_KEYS_ADDED),
    "strings beyond a word": Configuration(Script(FALSE_WORD, KEYS_SCHEMA, FALSE_WORD_TEXTS, 0.5), KEYS_ADDED),
    "different values": _held(HELD_ADDED),
    "different values, replace-one": _held(HELD_REPLACED, EXCHANGED),
    "units by bytes": Configuration(Script(COLLATED_POLICY, COLLATED_SCHEMA, COLLATED_TEXTS), COLLATED_ADDED),
    "dropped rows": _filled(FILLED_ADDED, "", "", "false"),
    "dropped rows, replace-one": _filled(FILLED_REPLACED, EXCHANGED, "", "false"),
    "a public row count": _filled(FILLED_REPLACED, EXCHANGED, PUBLIC, "true"),
    "views": _views(),
    "views, pmw": _views(PMW),
    "textbook-pmw": _filled(FILLED_ADDED, "", "", "false", TEXTBOOK),
    "textbook-pmw, replace-one": _only(1, _views(TEXTBOOK)),
    "sparse-pmw": _these(("a row more", "a unit with two rows alike less"), _city(mechanism=SPARSE, hard=0.15)),
    "sparse-pmw, replace-one": _these(("in both tables",), _city(mechanism=SPARSE, replaced=True, hard=0.15)),
    "graph, response": _by_method(False, method="graph", noise="randomised-response"),
    "graph, response, replace-one": _by_method(True, method="graph", noise="randomised-response"),
    "graph, gaussian": _only(1, _by_method(False, method="graph", noise="gaussian")),
    **(WITH_SOLVER if find_spec("highspy") else {}),
    "frieze-kannan": Configuration(Script(GRAPH_POLICY, GRAPH_SCHEMA, GRAPH_TEXTS, 0.3), GRAPH_NEIGHBOURS),
    "median": _only(1, _filled(FILLED_ADDED, "", "", "false", MEDIAN)),
    "the papers' constants, strings": _only(1, _city(mechanism=SPARSE + PAPER, hard=0.15)),
    "the papers' constants": _only(1, _filled(FILLED_ADDED, "", "", "false", PMW + PAPER)),
}
