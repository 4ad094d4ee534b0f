"""How much an object holds in memory."""

import gc
import types
import weakref

_OUTSIDE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, weakref.ReferenceType)
"""Code and classes; and weak references, of which a connection of ``sqlite3`` keeps up to 200 to closed cursors."""


def held(root: object) -> int:
    """Objects that can be reached from ``root``, without code and classes."""
    gc.collect()
    seen: set[int] = set()
    stack = [root]
    while stack:
        found = stack.pop()
        if id(found) not in seen and not isinstance(found, _OUTSIDE):
            seen.add(id(found))
            stack.extend(gc.get_referents(found))
    return len(seen)
