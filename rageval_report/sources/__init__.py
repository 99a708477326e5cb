"""Where files are not files: lists, folders and globs of them, databases, trackers, servers.

A source opens what the user named and returns files, contents or tables; readers read these, as
they read a single file. `SOURCES` is the table of all schemes; a new one is one file and one line.
"""

from rageval_report.sources.table import SOURCES

__all__ = ["SOURCES"]
