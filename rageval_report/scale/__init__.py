"""Tables beyond memory: lazy frames of engines that exist, counted into columns.

`tables` opens files with an engine and says what the columns are, by all rows, `counted` counts
them, `scan` has the verbs, and the analyses are those of tables in memory.
"""

from rageval_report._registry import load

load("narwhals")  # every module here imports it; or the error that names the extra
