"""Names and rules of other systems for rankings. Witness: the systems' own lists of metrics."""

import pandas as pd
import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.ranking_scores import (
    metrics_in_dialect,
    ranked_metrics,
    ranking_dialect,
    tables_in_dialect,
)
from rageval_report.scores.catalogue.dialects import DATAPIZZA, HAYSTACK, RAGBENCH


def test_a_ranking_has_the_dialects_of_rankings_only():
    assert ranking_dialect(None) is None
    assert ranking_dialect("haystack") is HAYSTACK
    assert ranking_dialect("datapizza") is DATAPIZZA
    for name in ("ragbench", "wfgy"):
        with pytest.raises(DataError, match=f'for rankings; got "{name}", whose metrics need'):
            ranking_dialect(name)
    with pytest.raises(UnknownNameError, match="haystak"):
        ranking_dialect("haystak")


def test_a_metric_that_the_system_lacks_is_named_with_those_it_has():
    with pytest.raises(DataError, match="dialect=\"haystack\" has no metric 'bpref'; it has: docu"):
        metrics_in_dialect(["document_mrr", "bpref"], HAYSTACK)
    with pytest.raises(DataError, match="at least one metric; got none"):
        metrics_in_dialect([], RAGBENCH)


def test_scores_and_their_states_get_the_names_of_the_system():
    index = pd.Index(["q1", "q2"], name="query_id")
    scores = pd.DataFrame({"recall@5": [0.5, None], "precision@5": [0.2, 0.4]}, index=index)
    details = pd.DataFrame(
        {
            "n_relevant": [2, 0],
            "recall@5_state": ["scored", "not applicable"],
            "recall@5_reason": [None, "nothing relevant"],
            "f1@5_state": ["scored", "scored"],
        },
        index=index,
    )
    known = ranked_metrics(["precision_at_5_exact", "recall_at_5_exact"], DATAPIZZA)
    renamed, more = tables_in_dialect(scores, details, known)
    assert list(renamed) == ["precision_at_5_exact", "recall_at_5_exact"]
    assert renamed["precision_at_5_exact"].tolist() == [0.2, 0.4]
    assert renamed["recall_at_5_exact"].dropna().to_dict() == {"q1": 0.5}
    assert list(more) == [
        "n_relevant", "f1@5_state", "recall_at_5_exact_state", "recall_at_5_exact_reason"
    ]  # fmt: skip
    assert more["recall_at_5_exact_state"].tolist() == ["scored", "not applicable"]
    assert more.loc["q2", "recall_at_5_exact_reason"] == "nothing relevant"
    assert list(details) == ["n_relevant", "recall@5_state", "recall@5_reason", "f1@5_state"]
