"""Tables beyond memory: lazy frames of engines that exist, counted into columns.

`counted` turns a lazy frame into columns with counts, `opening` opens files with an engine,
`tables` says what the columns are, by all rows; the analyses are those of tables in memory.
"""
