"""The tables that the grammar speaks of: every cell of ``people`` holds rows, so that no group of its own is empty.

For each beginning of a name that is asked for there is one that no condition names: else two conditions may leave no
row, which is not known without looking, and their groups are shown with 0.
"""

from collections.abc import Mapping

from tests.support.city import PRIVACY

SCHEMA = (
    """CREATE TABLE people AS SELECT age, sex, member, kids, joined, hours, name, pet FROM
    (VALUES (0), (1), (2), (NULL)) a(age), (VALUES ('Female'), ('Male'), (NULL)) b(sex),
    (VALUES (TRUE), (FALSE), (NULL)) c(member), (VALUES (0), (1)) d(kids),
    (VALUES (DATE '2020-01-31'), (DATE '2020-02-01')) e(joined), (VALUES (0.0), (10.0), (20.0), (NULL)) f(hours),
    (VALUES ('Mia'), ('Max'), ('Ann'), (NULL), ('Mix'), ('Mad'), ('Any')) g(name),
    (VALUES ('Rex'), ('Bo')) h(pet)""",
    "INSERT INTO people FROM people WHERE hash(age, sex, kids, name) % 3 = 1",
    "INSERT INTO people FROM people WHERE hash(member, joined, pet, age) % 5 = 2",
    "CREATE TABLE visits AS SELECT i // 2 AS person, 1 + i * 7 % 5 AS day, if(i % 3 = 0, 'walk', 'talk') AS kind "
    "FROM range(900) t(i)",
    "CREATE TABLE regions (sex VARCHAR, age INTEGER, label VARCHAR, weight DOUBLE)",
    "INSERT INTO regions VALUES ('Female', 0, 'a', 0.5), ('Male', 1, 'b', 1.5), ('Male', 2, 'Mia', 2.0)",
    "INSERT INTO regions VALUES (NULL, 7, NULL, 3.0)",
)
TABLES = """\
[tables.people.columns]
age = { type = "integer", min = 0, max = 2 }
sex = { type = "category", values = ["Female", "Male"] }
member = { type = "boolean" }
kids = { type = "integer", min = 0, max = 1, nullable = false }
joined = { type = "date", min = 2020-01-31, max = 2020-02-01, nullable = false }
hours = { type = "number", bins = [0, 10, 20, 30] }
name = { type = "text", prefixes = [1, 2] }
pet = { type = "text", nullable = false }
[tables.visits]
unit = "person"
max_rows_per_unit = 2
[tables.visits.columns]
day = { type = "integer", min = 1, max = 5, nullable = false }
kind = { type = "category", values = ["walk", "talk"], nullable = false }
[public]
tables = ["regions"]
"""
POLICY = f"version = 1\n[privacy]\n{PRIVACY}{TABLES}"
NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    "a row less": ("DELETE FROM people WHERE rowid = 17",),
    "a row of other strings": ("INSERT INTO people VALUES (1, 'Male', NULL, 1, '2020-02-01', 20, 'Zoe', 'Zip')",),
    "a row outside": ("INSERT INTO people VALUES (99, 'x', NULL, 1, '2020-02-01', -5, '', '%')",),
    "a unit more": ("INSERT INTO visits SELECT 4242, 5, 'walk' FROM range(2)",),
}
