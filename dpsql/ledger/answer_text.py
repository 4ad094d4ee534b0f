"""Answers as JSON text and back, exactly: integers stay integers, floats keep every bit.

An equal question gets the equal answer after a restart, to the last bit; hence a format of its own and not ``repr``.
"""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpsql.errors import LedgerError
from dpsql.result import Answer, CrosstabAnswers

_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True, check_circular=False)  # one finds its own way out


def answer_to_json(answer: Answer) -> list[Any]:
    """The answer's fields in order.

    >>> answer = Answer(3, 0.1, (2.9, 3.1), "exact", "measurement", certified=True, certified_bound=0.1, charged=0.5)
    >>> answer_from_json(json.loads(json.dumps(answer_to_json(answer)))) == answer
    True
    """
    interval = None if answer.interval is None else list(answer.interval)
    return [
        answer.value,
        answer.error,
        interval,
        answer.error_kind,
        answer.source,
        answer.certified,
        answer.certified_bound,
        answer.charged,
    ]


def answer_from_json(fields: list[Any]) -> Answer:
    """Inverse of ``answer_to_json``; ``ValueError`` or ``TypeError`` when ``fields`` are not an answer's."""
    value, error, interval, error_kind, source, certified, certified_bound, charged = fields
    pair = None if interval is None else (interval[0], interval[1])
    return Answer(value, error, pair, error_kind, source, certified, certified_bound, charged)


def encode_answer(answer: Answer) -> str:
    return encode(answer_to_json(answer))


def decode_answer(text: str) -> Answer:
    return answer_from_json(json.loads(text))


def encode_answers(answers: Iterable[tuple[str, Answer]]) -> str:
    return encode([[key, answer_to_json(answer)] for key, answer in answers])


def decode_answers(text: str) -> list[tuple[str, Answer]]:
    return [(key, answer_from_json(fields)) for key, fields in json.loads(text)]


def encode_crosstab(answers: CrosstabAnswers) -> bytes:
    """The answers of a crosstab: a line of JSON with what they share, then their arrays, little-endian.

    >>> found = CrosstabAnswers(np.array([3, 4]), np.array([0.5, np.nan]), "calibrated", "hypothesis")
    >>> decode_crosstab(encode_crosstab(found)) == found
    True
    """
    head = encode([len(answers), answers.error_kind, answers.source, answers.certified_bound])
    return b"\n".join([head.encode(), answers.values.astype("<i8").tobytes() + answers.errors.astype("<f8").tobytes()])


def decode_crosstab(text: bytes) -> CrosstabAnswers:
    """Inverse of ``encode_crosstab``; ``ValueError`` or ``TypeError`` when ``text`` is something else."""
    head, _, arrays = text.partition(b"\n")
    number, error_kind, source, bound = json.loads(head)
    if len(arrays) != 16 * number:
        raise ValueError("answers that were cut off")
    values, errors = np.frombuffer(arrays, "<i8", number), np.frombuffer(arrays, "<f8", number, 8 * number)
    return CrosstabAnswers(values.astype(np.int64), errors.astype(np.float64), error_kind, source, bound)


def encode(value: Any) -> str:
    """Compact JSON, ASCII only; ``LedgerError`` when ``value`` holds something that JSON does not know."""
    failure = "a payload holds a value that JSON does not know"
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        failure = "a payload is nested too deeply"
    except (TypeError, ValueError):
        pass
    raise LedgerError(failure, hint="keep payloads to numbers, strings, lists and string-keyed dicts")
