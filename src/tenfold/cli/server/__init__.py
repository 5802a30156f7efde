"""`tenfold serve`: predictions over HTTP, for this machine only.

`local_server` binds and protects an application on 127.0.0.1, `app` has the routes of a model,
`requests` the schema and the validation of what they receive, `command` the command line.
"""
