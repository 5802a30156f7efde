"""Mixture models, learned by EM."""
