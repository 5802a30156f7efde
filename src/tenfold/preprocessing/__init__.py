"""Tables of mixed columns: what their columns are, and how models see them."""
