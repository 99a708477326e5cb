"""The example of the proposal, and small tables whose every cell can be seen."""

import pytest

PROPOSAL = {
    "query_id": ["53c3b3e6, 225f87f7, 8ac473ec, 97d284ca"],
    "reciprocal_rank": [0.378064, 0.534964, 0.216058, 0.778642],
    "single_hit": [1, 1, 0, 1],
    "multi_hit": [0.706125, 0.454976, 0.445512, 0.250522],
    "context_relevance": [0.805466, 0.410251, 0.750070, 0.361332],
    "faithfulness": [0.135581, 0.695974, 0.749861, 0.041999],
    "semantic_answer_similarity": [0.971241, 0.159320, 0.019722, 1],
    "exact_match": [0, 1, 0, 0],
}


@pytest.fixture
def proposal():
    """The data as the proposal prints it: the four ids are one text."""
    return {name: list(values) for name, values in PROPOSAL.items()}
