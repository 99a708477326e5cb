"""Ranks from sorted scores. Witness: plain loops over `sorted` of Python, query by query."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.rankings import order

# Few distinct scores, so that many are equal; infinities rank too.
SCORES = st.lists(st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 1.0, 7.0, np.inf]), max_size=25)
LISTS = st.lists(SCORES, min_size=1, max_size=9).filter(any)


def columns_of(lists):
    """The scores of all queries one after the other, and how many each has."""
    scores = np.array([score for one in lists for score in one], np.float64)
    return scores, np.array([len(one) for one in lists], np.int64)


def places_of(lists):
    """The query of each score, and its place among all."""
    query = [number for number, one in enumerate(lists) for _ in one]
    return np.array(query, np.int64), np.arange(len(query))


def expected_ranks(lists):
    """For each score how many of its query are higher, and whether another one is equal."""
    better = [sum(other > score for other in one) for one in lists for score in one]
    equal = [one.count(score) > 1 for one in lists for score in one]
    return better, equal


@given(LISTS)
@settings(max_examples=80)
def test_scores_are_sorted_within_their_query(lists):
    scores, lengths = columns_of(lists)
    before = scores.copy()
    ordered = order.from_the_best(scores, lengths)
    assert (-ordered).tolist() == [x for one in lists for x in sorted(one, reverse=True)]
    assert scores.tolist() == before.tolist()  # the caller's scores stay as they are


@given(LISTS)
@settings(max_examples=80)
def test_ranks_are_those_of_a_loop(lists):
    scores, lengths = columns_of(lists)
    query, place = places_of(lists)
    ordered = order.from_the_best(scores, lengths)
    better, equal = expected_ranks(lists)
    for found in (
        order.n_better(ordered, lengths, query, scores),
        order.n_better_at(ordered, scores, lengths, query, place),
    ):
        assert [column.tolist() for column in found] == [better, equal]


@given(LISTS)
@settings(max_examples=80)
def test_ranks_of_sorted_lists_are_those_of_a_loop(lists):
    lists = [sorted(one, reverse=True) for one in lists]
    scores, lengths = columns_of(lists)
    query, place = places_of(lists)
    before = place.copy()
    ordered = order.from_the_best(scores, lengths)
    assert ordered.tolist() == (-scores).tolist()
    found = order.n_better_at(ordered, scores, lengths, query, place)
    assert [column.tolist() for column in found] == list(expected_ranks(lists))
    assert place.tolist() == before.tolist()


@given(LISTS)
@settings(max_examples=80)
def test_tied_rows_are_those_with_an_equal_score_in_their_query(lists):
    scores, lengths = columns_of(lists)
    ordered = order.from_the_best(scores, lengths)
    by_rank = [sorted(one, reverse=True) for one in lists]
    expected = [one.count(score) > 1 for one in by_rank for score in one]
    assert order.is_tied(ordered, lengths).tolist() == expected
    counts = [sum(one.count(score) > 1 for score in one) for one in lists]
    assert order.n_tied(ordered, lengths).tolist() == counts


class Named:
    """Documents with a name per row; those in question are rows. It records the rows it names."""

    def __init__(self, names, rows_in_question, by_id):
        self.names, self.in_question, self.by_id = names, rows_in_question, by_id
        self.rows_read = []

    def go_ahead(self, rows, numbers):
        self.rows_read += rows.tolist()
        pairs = zip(rows.tolist(), self.in_question[numbers].tolist(), strict=True)
        ahead = [self.names[a] > self.names[b] if self.by_id else a < b for a, b in pairs]
        return np.array(ahead, dtype=bool)

    def ids(self, rows):
        self.rows_read += rows.tolist()
        return np.array([self.names[row] for row in rows.tolist()], dtype=object)

    def ids_in_question(self, numbers):
        return np.array([self.names[row] for row in self.in_question[numbers]], dtype=object)


def n_equal_ahead(scores, lengths, query, rank, documents):
    """As in `order`, from scores that were not sorted yet."""
    queries = order.queries_in_question(query, len(lengths))
    ordered = order.from_the_best(scores, lengths)
    row_at = order.rows_from_the_best(scores, lengths, queries)
    low, high = order.equals_of(ordered, lengths, order.starts_of(lengths)[query] + rank)
    return order.n_equal_ahead(row_at, low, high, documents, by_id=documents.by_id)


@given(LISTS, st.booleans(), st.randoms(use_true_random=False), st.sampled_from([1, 3, 16]))
@settings(max_examples=120)
def test_equal_scores_are_ordered_by_id_or_as_they_stand(lists, by_id, random, few):
    scores, lengths = columns_of(lists)
    query, place = places_of(lists)
    ids = [f"d{number:02}" for number in range(len(scores))]
    random.shuffle(ids)
    ordered = order.from_the_best(scores, lengths)
    rank, tied = order.n_better(ordered, lengths, query, scores)
    assume(tied.any())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "_FEW", few)
        documents = Named(ids, place[tied], by_id)
        ahead = n_equal_ahead(scores, lengths, query[tied], rank[tied], documents)
    goes_ahead = (lambda a, b: ids[a] > ids[b]) if by_id else (lambda a, b: a < b)
    expected = [
        sum(
            query[other] == query[row] and scores[other] == scores[row] and goes_ahead(other, row)
            for other in place
        )
        for row in place[tied]
    ]
    assert ahead.tolist() == expected


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("few", [1, 16])
def test_only_the_ids_of_equal_scores_in_question_are_read(by_id, few, monkeypatch):
    monkeypatch.setattr(order, "_FEW", few)
    scores, lengths = columns_of([[5, 3, 3, 3, 1, 1], [9, 9], [2, 2, 2]])
    names = [f"d{row:02}" for row in range(11)]
    # the second 3 of the first query, and the last 2 of the third
    documents = Named(names, np.array([2, 10]), by_id)
    ahead = n_equal_ahead(scores, lengths, np.array([0, 2]), np.array([1, 0]), documents)
    assert sorted(documents.rows_read) == [1, 2, 3, 8, 9, 10]
    assert ahead.tolist() == ([1, 0] if by_id else [1, 2])


@pytest.mark.parametrize("n", [2, 40])
def test_ids_that_cannot_be_compared_are_refused(n):
    scores, lengths = columns_of([[1.0] * n])
    documents = Named(["a", *range(n - 1)], np.array([0]), by_id=True)
    with pytest.raises(DataError, match="document ids must all be texts"):
        n_equal_ahead(scores, lengths, np.array([0]), np.array([0]), documents)


NEAR = st.sampled_from([0.1 + 0.2, 0.3, 1.0, 1.0 + 2**-52, -1.0, -1.0 - 2**-52, 5e-324, 1e-323,
                        0.0, -0.0, np.inf, -np.inf])  # fmt: skip


@given(st.lists(st.lists(NEAR, max_size=20), min_size=1, max_size=5).filter(any))
@settings(max_examples=150)
def test_rows_are_in_the_order_of_their_scores_however_near_these_are(lists):
    scores, lengths = columns_of(lists)
    row_at = order.rows_from_the_best(scores, lengths, np.arange(len(lengths)))
    assert (-scores[row_at] == order.from_the_best(scores, lengths)).all()
    query, place = places_of(lists)
    assert query[row_at].tolist() == query.tolist()
    assert sorted(row_at.tolist()) == place.tolist()


@pytest.mark.parametrize("n", [1, 15, 16, 17, 40])
def test_lists_of_one_length_are_sorted_beside_a_shorter_and_an_empty_one(n, monkeypatch):
    monkeypatch.setattr(order, "_CELLS", 12)  # two of the lists at a time
    rng = np.random.default_rng(n)
    lists = [rng.integers(0, 9, size).tolist() for size in [5] * n + [3, 0] + [5] * n]
    scores, lengths = columns_of(lists)
    best = [score for one in lists for score in sorted(one, reverse=True)]
    assert (-order.from_the_best(scores, lengths)).tolist() == best
    row_at = order.rows_from_the_best(scores, lengths, np.arange(len(lengths)))
    assert scores[row_at].tolist() == best


def test_all_queries_are_in_question_if_most_are():
    assert order.queries_in_question(np.array([3, 1, 3]), 5).tolist() == [1, 3]
    assert order.queries_in_question(np.array([3, 1, 4, 3]), 5).tolist() == [0, 1, 2, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=8))
@settings(max_examples=50)
def test_ranges_are_spread_one_after_the_other(ranges):
    starts, lengths = (np.array([one[n] for one in ranges], np.int64) for n in (0, 1))
    expected = [number for start, n in ranges for number in range(start, start + n)]
    assert order.spread(starts, lengths).tolist() == expected


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30))
@settings(max_examples=60)
def test_queries_are_grouped_so_that_at_most_half_of_a_row_is_padding(lengths):
    lengths = np.array(lengths, np.int64)
    groups = [group.tolist() for group in order.groups_of_similar_length(lengths)]
    assert sorted(code for group in groups for code in group) == np.flatnonzero(lengths).tolist()
    for group in groups:
        assert group == sorted(group)
        assert max(lengths[group]) < 2 * min(lengths[group])


def test_a_group_holds_no_more_cells_than_fit():
    groups = list(order.groups_of_similar_length(np.full(3000, 100)))
    sizes = [len(group) for group in groups]
    # 100 documents take up to 128 cells, and 512 times 128 are 65 536
    assert sizes == [512, 512, 512, 512, 512, 440]
    # A query that does not fit is sorted alone.
    long = order.groups_of_similar_length(np.array([200_000, 200_000]))
    assert [group.tolist() for group in long] == [[0], [1]]


def test_rows_of_neighbouring_queries_are_a_slice():
    lengths = np.array([2, 3, 1, 4])
    starts = order.starts_of(lengths)
    assert order.rows_of(np.array([1, 2]), starts, lengths) == slice(2, 6)
    assert order.rows_of(np.array([0, 2, 3]), starts, lengths).tolist() == [0, 1, 5, 6, 7, 8, 9]


def test_more_documents_than_one_block_are_all_ranked():
    rng = np.random.default_rng(5)
    lists = [rng.integers(0, 400, n).astype(float).tolist() for n in (900, 0, 17_000, 3)]
    scores, lengths = columns_of(lists)
    query, _ = places_of(lists)
    rank, tied = order.n_better(order.from_the_best(scores, lengths), lengths, query, scores)
    expected = []
    for one in map(np.array, lists):
        values, counts = np.unique(one, return_counts=True)
        higher = len(one) - np.cumsum(counts)
        expected += list(zip(*(column[np.searchsorted(values, one)].tolist()
                               for column in (higher, counts > 1)), strict=True))  # fmt: skip
    assert list(zip(rank.tolist(), tied.tolist(), strict=True)) == expected
