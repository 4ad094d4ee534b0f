"""What the demonstration asks, and in what order.

It is data, apart from the code that runs it, so that the tour can be read in one go.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from random import Random


@dataclass(frozen=True)
class Step:
    """One question: in words, in SQL, and what to notice about its answer."""

    database: str
    question: str
    sql: str
    remark: str = ""


TOUR = (
    Step(
        "adult",
        "How many people are 65 or older?",
        "SELECT COUNT(*) AS n FROM adult WHERE age >= 65",
        "noisy on purpose, ± says how much; the first question pays for the model of all",
    ),
    Step(
        "adult",
        "And again?",
        "SELECT COUNT(*) AS people FROM adult WHERE 65 <= age",
        "an equal question gets the equal answer, free, however it is written",
    ),
    Step(
        "adult",
        "How does income differ between women and men?",
        "SELECT sex, income, COUNT(*) AS n FROM adult GROUP BY sex, income",
    ),
    Step(
        "adult",
        "Who works long hours?",
        "SELECT education, COUNT(*) AS n FROM adult\n"
        "WHERE hours_per_week >= 41 AND education IN ('Bachelors', 'Masters', 'Doctorate')\n"
        "GROUP BY education ORDER BY n DESC",
    ),
    Step(
        "adult",
        "Are people with a higher income older?",
        "SELECT income, AVG(age) AS years FROM adult GROUP BY income",
    ),
    Step(
        "pets",
        "Which animals live in Seattle?",
        "SELECT species, COUNT(*) AS n FROM pets GROUP BY species",
        "goats and pigs are few: their owners cannot be told from nobody",
    ),
    Step(
        "pets",
        "Which names are the most frequent?",
        "SELECT animal_name, COUNT(*) AS n FROM pets WHERE animal_name IS NOT NULL\n"
        "GROUP BY animal_name ORDER BY n DESC LIMIT 5",
        "no list was declared: a name is shown where so many bear it that no owner stands out",
    ),
    Step(
        "pets",
        "How many pets have one of these?",
        "SELECT COUNT(*) AS n FROM pets WHERE animal_name IN ('Luna', 'Bella', 'Lucy', 'Fido the Third')",
        "strings that were not shown can be asked for all the same",
    ),
    Step(
        "pets",
        "How many dogs bear a top-ten baby name of 2018?",
        "SELECT COUNT(*) AS n FROM pets\nWHERE species = 'Dog' AND animal_name IN (SELECT name FROM baby_names)",
    ),
    Step(
        "pets",
        "How many cats were licensed in West Seattle in 2018?",
        "SELECT COUNT(*) AS n FROM pets\n"
        "WHERE species = 'Cat' AND issued >= DATE '2018-01-01'\n"
        "  AND zip_code IN (SELECT zip_code FROM zip_areas WHERE area = 'West Seattle')",
    ),
)

_CONDITIONS = (
    ("age", ("age < 25", "age >= 65", "age BETWEEN 25 AND 34", "age BETWEEN 35 AND 49", "age BETWEEN 50 AND 64")),
    ("sex", ("sex = 'Female'", "sex = 'Male'")),
    ("income", ("income = '>50K'", "income = '<=50K'")),
    ("education", ("education = 'HS-grad'", "education IN ('Masters', 'Doctorate')", "education LIKE '%th'")),
    ("marital_status", ("marital_status = 'Divorced'", "marital_status LIKE 'Married%'", "marital_status = 'Widowed'")),
    ("workclass", ("workclass = 'Private'", "workclass LIKE '%-gov'", "workclass LIKE 'Self-emp%'")),
    ("hours_per_week", ("hours_per_week < 35", "hours_per_week >= 41", "hours_per_week >= 51")),
)


def random_questions(count: int, seed: int = 1994) -> Iterator[str]:
    """Counts under one or two conditions on different columns of ``adult`` in random order, each once: 207 at most.

    The same for the same seed, whatever their number.
    """
    conditions = [text for _, texts in _CONDITIONS for text in texts]
    for (_, some), (_, others) in combinations(_CONDITIONS, 2):
        conditions += [f"{one} AND {other}" for one, other in product(some, others)]
    Random(seed).shuffle(conditions)  # noqa: S311 - chooses questions, protects nothing
    for condition in conditions[:count]:
        yield f"SELECT COUNT(*) AS n FROM adult WHERE {condition}"
