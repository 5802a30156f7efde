"""A score that is linear in the features."""
