"""Options of compiled functions of trees, which are many: each is to compile fast.

No function is called from C or divides by zero ("error_model"), and where a function allocates no
memory itself, numba need not count references of arrays ("_nrt").
"""

from __future__ import annotations

from typing import Any

# Of functions that Python calls; the same without memory of their own; of those that compiled code
# alone calls; and of the latter if they are called for each column or row (tables are long
# arguments). Options of overloads are the same without a cache.
ENTRY: Any = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
LOOP: Any = ENTRY | {"_nrt": False}
INNER: Any = LOOP | {"no_cpython_wrapper": True}
HOT: Any = INNER | {"forceinline": True}
INNER_OVERLOAD: Any = {name: INNER[name] for name in INNER if name != "cache"}
HOT_OVERLOAD: Any = INNER_OVERLOAD | {"forceinline": True}
