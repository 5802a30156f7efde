"""Pure functions of arrays: losses, penalties, links, distances, labels, costs."""
