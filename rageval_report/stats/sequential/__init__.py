"""Statistics that may be looked at while the scores still come in.

A p-value or an interval of a fixed number of queries is valid for one look. What is here is valid
at every look, or at a planned few:

- `mean_evalues` and `paired_evalues`, `mean_sequence` and `paired_sequence`: bounded scores, by
  betting. Valid at every look, whatever the distribution of the scores.
- `asymptotic_evalues` and `asymptotic_sequence`: scores without bounds, such as latencies. Valid
  for many queries.
- `adjust_evalues`: several metrics at once (e-Holm).
- `change_evalues`: a mean that gets worse at some time of a stream without an end.
- `look_levels`: levels for a planned few looks with a test of your own (alpha spending).

An e-value is the capital of a bettor who doubts a hypothesis and started with 1: if the hypothesis
is true it reaches 20 with a probability of at most 1 / 20, in the whole of the evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.stats.sequential.asymptotic import asymptotic_evalues as asymptotic_evalues
    from rageval_report.stats.sequential.asymptotic import (
        asymptotic_sequence as asymptotic_sequence,
    )
    from rageval_report.stats.sequential.bets import EffectBets as EffectBets
    from rageval_report.stats.sequential.bets import PlugInBets as PlugInBets
    from rageval_report.stats.sequential.bets import SizeBets as SizeBets
    from rageval_report.stats.sequential.change_detection import change_evalues as change_evalues
    from rageval_report.stats.sequential.confidence_sequences import (
        ConfidenceSequence as ConfidenceSequence,
    )
    from rageval_report.stats.sequential.confidence_sequences import mean_sequence as mean_sequence
    from rageval_report.stats.sequential.confidence_sequences import (
        paired_sequence as paired_sequence,
    )
    from rageval_report.stats.sequential.evalues import adjust_evalues as adjust_evalues
    from rageval_report.stats.sequential.evalues import mean_evalues as mean_evalues
    from rageval_report.stats.sequential.evalues import paired_evalues as paired_evalues
    from rageval_report.stats.sequential.spending import SPENDING as SPENDING
    from rageval_report.stats.sequential.spending import look_levels as look_levels
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)
