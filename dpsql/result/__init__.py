"""Released numbers and result tables."""

from dpsql.result.answer import EXACT_ZERO, Answer, ErrorKind, Source

__all__ = ["EXACT_ZERO", "Answer", "ErrorKind", "Source"]
