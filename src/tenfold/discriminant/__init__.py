"""Discriminant analysis and other generative classifiers."""
