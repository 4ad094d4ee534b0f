"""Engines: whoever counts private rows, behind one protocol. Each database is a folder of its own in here."""

from dpsql.engine.memory import MemoryEngine
from dpsql.engine.protocol import Engine
from dpsql.engine.rules import Rules

__all__ = ["Engine", "MemoryEngine", "Rules"]
