"""`python -m local seed`: fills a running service with a company that could be real, over HTTP and nothing else.

`content/` says what there is to be, `callers` how it is asked for, the other modules do it. Each looks first whether
something is there: what is, stays as it is, whoever has changed it since; what is missing is made. So a seed can be
repeated, and goes on where another one ended.
"""
