"""Damaged statements: words of the language and of the tables, thrown together or into a good statement."""

import random
import re
from collections.abc import Iterator, Sequence

_WORDS = re.compile(r"\s+|\w+|'[^']*'|.", re.DOTALL)
_VOCABULARY = r"""
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET AS AND OR NOT IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END JOIN
LEFT ON USING UNION ALL DISTINCT WITH RECURSIVE OVER PARTITION FILTER QUALIFY WINDOW EXISTS ANY CAST INTERVAL DATE TABLE
VALUES LATERAL PIVOT SAMPLE ( ) ( ) , , . ; * + - / % ** || :: = <> < > <= >= ! ? $1 $x [ ] { } : -> @ # ' " ` ~ ^ & | \
COUNT(*) COUNT SUM AVG MIN people visits regions age member region joined hours name secret day kind place unit rowid
0 1 -1 1e999 0x1F 9223372036854775808 'north' 'x' '' TRUE t.* people.age _released_1 g0 dpsql_rows DP_INTERVAL_LOW
unnest range generate_series read_csv getenv error random now lambda x -- /* */ $$ E'\n' x'ff'
"""
_SOUP = (*_VOCABULARY.split(), "\t", "\n", "\N{SNOWMAN}", "\N{ZERO WIDTH SPACE}", "")


def soup(coins: random.Random) -> str:
    """Up to 30 words in no order, now and then after a good beginning."""
    words = [coins.choice(_SOUP) for _ in range(coins.randint(1, 30))]
    start = coins.choice(("", "", "SELECT COUNT(*) FROM people WHERE ", "SELECT ", "WITH x AS (SELECT 1) "))
    return start + " ".join(words)


def mutated(coins: random.Random, statement: str) -> str:
    """The statement with one to four of its words dropped, doubled, swapped, replaced or broken."""
    words = _WORDS.findall(statement)
    for _ in range(coins.choice((1, 1, 1, 1, 2, 4))):
        if not words:
            break
        i, j = coins.randrange(len(words)), coins.randrange(len(words))
        match coins.randrange(6):
            case 0:
                del words[i]
            case 1:
                words.insert(i, words[j])
            case 2:
                words[i], words[j] = words[j], words[i]
            case 3:
                words[i] = coins.choice(_SOUP)
            case 4:
                words.insert(i, f" {coins.choice(_SOUP)} ")
            case _:
                words[i] = words[i][: len(words[i]) // 2]
    return "".join(words)


def damaged(seed: int, statements: Sequence[str], count: int) -> Iterator[str]:
    """``count`` texts, the same for the same seed: three mutated statements for each soup."""
    coins = random.Random(seed)  # noqa: S311 - which text comes next, no noise
    for number in range(count):
        yield soup(coins) if number % 4 == 3 else mutated(coins, coins.choice(statements))
