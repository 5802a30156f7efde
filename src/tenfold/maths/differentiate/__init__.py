"""Automatic differentiation of functions written in NumPy, and checks by finite differences."""
