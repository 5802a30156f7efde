"""Which rows belong together."""
