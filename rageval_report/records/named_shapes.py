"""Tables of other tools in which a usual name means something else."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from rageval_report.records import cells

# The results of datapizza-ai's cookbook: "answer" is the right one, and "prediction" what the
# pipeline said; the true chunks are titles and facts without ids.
_COOKBOOK = {
    "answer": "reference",
    "prediction": "answer",
    "chunks": "retrieved",
    "gt_chunks": "relevant_texts",
}


def with_usual_names(frame: pd.DataFrame) -> pd.DataFrame:
    """A table under the names of `FIELDS`, if it has the columns of a known shape.

    Examples
    --------
    >>> row = {"answer": "So.", "prediction": "No.", "chunks": [], "gt_chunks": [{"fact": "So."}]}
    >>> with_usual_names(pd.DataFrame([row])).iloc[0].to_dict()
    {'reference': 'So.', 'answer': 'No.', 'retrieved': [], 'relevant_texts': ['So.']}
    """
    if not set(_COOKBOOK) <= set(frame.columns) or "reference" in frame.columns:
        return frame
    facts = pd.Series([_facts(cell) for cell in frame["gt_chunks"]], frame.index, dtype=object)
    return frame.assign(gt_chunks=facts).rename(columns=_COOKBOOK)


def _facts(cell: object) -> object:
    if cells.is_missing(cell):
        return None
    items = cells.items_in(cells.decoded(cell))
    return [item.get("fact", item) if isinstance(item, Mapping) else item for item in items]
