"""Compiled loops, and kernels written in LLVM IR where neither NumPy nor a compiler finds the fast arrangement."""
