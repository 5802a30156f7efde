"""Naive Bayes classifiers."""
