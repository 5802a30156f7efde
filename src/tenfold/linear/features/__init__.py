"""Columns made of columns."""
