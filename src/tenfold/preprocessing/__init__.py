"""Preprocessing: encoders of tables, basis expansions, indicators and text features."""
