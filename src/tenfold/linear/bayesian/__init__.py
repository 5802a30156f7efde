"""Bayesian linear models: posteriors, evidence, and model averaging."""
