"""Pure functions of arrays: no fit, no self, no data access."""
