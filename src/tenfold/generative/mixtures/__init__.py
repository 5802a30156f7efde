"""Mixtures: first a hidden component, then a row from its density; learned by EM."""
