"""The records of a large run, one table at a time, and a sketch of all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pandas as pd

from rageval_report.errors import RagevalWarning
from rageval_report.records.table import concatenate_rows
from rageval_report.runner import FinishedRun

# Up to this size a run is kept in memory as a whole, and the page shows all its texts.
MOST_WHOLE = 20_000  # queries
MOST_WHOLE_BYTES = 200_000_000  # of the journal, which holds the answers

_JOURNAL = "journal.jsonl"


def is_large(finished: FinishedRun) -> bool:
    """Whether the texts of a run are too many for the memory."""
    size = (finished.folder / _JOURNAL).stat().st_size
    return finished.n > MOST_WHOLE or size > MOST_WHOLE_BYTES


@dataclass
class RecordBlocks:
    """The records of a finished run, which can be iterated repeatedly; warnings appear once.

    Parameters
    ----------
    finished : FinishedRun
        The run.
    tell : callable
        Is called with a note on the warnings.
    """

    finished: FinishedRun
    tell: Callable[[str], object]
    _warnings: list[str] = field(default_factory=list)
    _has_warned: bool = False

    def __call__(self) -> Iterator[pd.DataFrame]:
        """The tables, from the first to the last."""
        blocks = self.finished.blocks(unplaced_gold="drop")
        while (block := self._next(blocks)) is not None:
            yield block
        if not self._has_warned and self._warnings:
            n_more = len(self._warnings) - 1
            rest = f"; similar warnings in {n_more} further parts of the run" if n_more else ""
            self.tell(self._warnings[0] + rest)
        self._has_warned = True

    def _next(self, blocks: Iterator[pd.DataFrame]) -> pd.DataFrame | None:
        with warnings.catch_warnings(record=True, action="always") as caught:
            block = next(blocks, None)
        if not self._has_warned:
            self._warnings += [
                str(warning.message)
                for warning in caught
                if issubclass(warning.category, RagevalWarning)
            ]
        return block

    def sketch(self) -> pd.DataFrame:
        """A few of the records, in which each field is present that any record has.

        A field that any answered record has is present in an answered one.
        """
        parts: list[pd.DataFrame] = []
        seen: set[tuple[bool, int]] = set()
        for block in self():
            rows = set() if parts else {0}
            is_present = block.notna().to_numpy()
            is_answered = is_present & block["error"].isna().to_numpy()[:, None]
            for answered, cells in ((True, is_answered), (False, is_present)):
                for column in range(block.shape[1]):
                    if (answered, column) not in seen and cells[:, column].any():
                        seen.add((answered, column))
                        rows.add(int(cells[:, column].argmax()))
            if rows:
                parts.append(block.iloc[sorted(rows)])
        return concatenate_rows(parts)
