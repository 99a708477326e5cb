"""The records of a large run, a table at a time, and what all of them together hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rageval_report._registry import load
from rageval_report.cli.notes import note
from rageval_report.errors import RagevalWarning

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.runner import FinishedRun

# Up to here a run is held as a whole, with all its texts, and the page shows them.
MOST_WHOLE = 20_000
MOST_WHOLE_BYTES = 200_000_000  # of answers, as they stand in the journal

_JOURNAL = "journal.jsonl"


def is_large(finished: FinishedRun) -> bool:
    """Whether the texts of a run are too many to be held at once."""
    size = (finished.folder / _JOURNAL).stat().st_size
    return finished.n > MOST_WHOLE or size > MOST_WHOLE_BYTES


@dataclass
class InBlocks:
    """The records of a finished run, gone through as often as needed; warnings are told once.

    Parameters
    ----------
    finished : FinishedRun
        The run.
    """

    finished: FinishedRun
    _told: list[str] = field(default_factory=list)
    _was_told: bool = False

    def __call__(self) -> Iterator[pd.DataFrame]:
        """The tables, from the first on."""
        blocks = self.finished.blocks(unplaced_gold="drop")
        while (block := self._next(blocks)) is not None:
            yield block
        if not self._was_told and self._told:
            more = len(self._told) - 1
            note(self._told[0] + (f"; the like in {more} further parts of the run" * bool(more)))
        self._was_told = True

    def _next(self, blocks: Iterator[pd.DataFrame]) -> pd.DataFrame | None:
        with warnings.catch_warnings(record=True, action="always") as caught:
            block = next(blocks, None)
        if not self._was_told:
            self._told += [str(one.message) for one in caught if _is_ours(one)]
        return block

    def sketch(self) -> pd.DataFrame:
        """A few of the records, which hold each field that any holds, and any that was answered."""
        found: list[pd.DataFrame] = []
        seen: set[tuple[bool, int]] = set()
        for block in self():
            chosen = set() if found else {0}
            holds = block.notna().to_numpy()
            answered = holds & block["error"].isna().to_numpy()[:, None]
            for is_answered, cells in ((True, answered), (False, holds)):
                for place in range(block.shape[1]):
                    if (is_answered, place) not in seen and cells[:, place].any():
                        seen.add((is_answered, place))
                        chosen.add(int(cells[:, place].argmax()))
            if chosen:
                found.append(block.iloc[sorted(chosen)])
        sketch: pd.DataFrame = load("pandas:concat")(found)
        return sketch


def _is_ours(caught: warnings.WarningMessage) -> bool:
    return issubclass(caught.category, RagevalWarning)
