"""A table as a product of thin tables."""
