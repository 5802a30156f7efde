"""Posteriors of linear models, their evidence, and averages over models."""
