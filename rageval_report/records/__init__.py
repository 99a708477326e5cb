"""Table 1, the records: one row a query, what was asked, expected, retrieved and answered.

The check at the door is `record_table`; past it every cell has one shape, and code trusts it.
"""

from __future__ import annotations

from rageval_report.records.table import FIELDS, record_table

__all__ = ["FIELDS", "record_table"]
