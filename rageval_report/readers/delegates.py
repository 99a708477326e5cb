"""What readers need for some files only, each loaded on its first use.

Every file is shown to every reader, and importing what scores rankings, or draws a progress bar,
takes longer than reading a small table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from tqdm import tqdm as tqdm

    from rageval_report.readers.scored_rankings import (
        score_file_of_ranking as score_file_of_ranking,
    )
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)
