"""`tenfold serve`: predictions over HTTP, on this machine alone.

Read in order: `schema` (what a request must look like), `answers` (a request to an answer, without
a network), `server` (HTTP: addresses, limits, headers), `page` (the form for people).
"""
