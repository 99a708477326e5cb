"""Table 1, the records: one row per query with what was asked, expected, retrieved and answered.

`record_table` checks the data when it enters; after that every cell of a field has one shape, and
the code relies on it. Public data sets and golden sets become such records.
"""

from __future__ import annotations

from rageval_report.records.table import FIELDS, record_table

__all__ = ["FIELDS", "record_table"]
