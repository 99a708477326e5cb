"""Where files are not files: lists, folders and globs of them, databases, trackers, servers.

A source opens what the user named and returns files, contents or tables; readers read these, as
they read a single file. `SOURCES` is the table of all schemes; a new one is one file and one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.sources.reading import read as read
    from rageval_report.sources.reading import read_undivided as read_undivided
    from rageval_report.sources.table import SOURCES as SOURCES
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)
