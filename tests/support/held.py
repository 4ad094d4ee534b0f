"""How much an object holds in memory."""

import gc
import types

_OUTSIDE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


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
