"""Tables beyond memory: pieces of files, read and paired part by part, by one of several engines.

A computation is a function of some rows that returns a state, and states that are added: `a + b`.
So any engine can run it on any division of the rows: one process, or DuckDB.
"""
