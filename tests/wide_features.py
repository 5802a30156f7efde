"""Print NumPy's dispatched CPU features beyond AVX2, for NPY_DISABLE_CPU_FEATURES."""

import numpy as np

simd = np.show_config(mode="dicts")["SIMD Extensions"]
print(*[name for name in simd.get("found", []) if name.startswith(("AVX512", "X86_V4"))])
