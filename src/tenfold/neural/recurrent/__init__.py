"""Layers with a state, and models of sequences."""
