"""Text features: bags of words, tf-idf, term weights."""
