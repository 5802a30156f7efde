"""Compiled loops and kernels in LLVM IR: the only package that uses numba's internals.

Plain loops are compiled by numba (`reductions`, `likelihoods`, `checksums`). Where neither NumPy
nor a compiler finds the fast arrangement, a kernel is written in LLVM IR (`nearest_centers`,
`gram`), or a single instruction or library call is emitted (`prefetch`, `work_counter`, `gemm`).
Each module names the case of `benchmarks` that runs it, and the gain where one was measured.
`code_cache` lets several processes compile at once, `code_library` and `inner_functions` compile
less of what only compiled code calls, `compile_repetition` keeps what numba has found out, and
`compile_interrupts` and `compile_garbage` let Ctrl-C and Python's collector wait for numba.
"""

from tenfold._compiled import (  # noqa: F401 - before anything is compiled
    code_cache,
    code_library,
    compile_interrupts,
    compile_repetition,
)
