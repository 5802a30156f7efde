"""How many clusters there are, what they cost, and what sets them apart."""
