"""The loop that ranks judged documents; here as plain Python, compiled by the tests of files.

Witness: lists sorted by Python, of equal scores the id that is later in UTF-8 first, as trec_eval
has it.
"""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.rankings import order
from rageval_report.rankings.trec.bytes import text_of
from rageval_report.rankings.trec.files import _QRELS, _RUN
from rageval_report.rankings.trec.join import collect_hits
from rageval_report.rankings.trec.rank_kernel import rank
from rageval_report.rankings.trec.text_rows import TextRows, read_columns

# Lengths around one and two words of eight bytes, ids that begin with others, and other letters,
# of which the last two come in another order in UTF-16.
IDS = ["d", "d0", "d0000000", "d00000000", "d0000001", "d00000001", "d~", "dé", "é", "éa", "é" * 4,
       "é" * 8, *("x" * n for n in range(6, 19)), *("x" * n + "y" for n in (7, 8, 15, 16)),
       "d\uffee", "d\U0001f600"]  # fmt: skip
LISTS = st.lists(
    st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.5, 0.25, -1.0, np.inf]), max_size=18),
    min_size=1,
    max_size=5,
).filter(any)


def rows_of(line_format, lines):
    text = text_of("a file", "".join(lines).encode())
    return TextRows(text, read_columns(text, 0, line_format))


def run_of(lists, first=0):
    """The rows of some queries, whose names are counted from `first`."""
    named = enumerate(lists, first)
    return rows_of(
        _RUN, [f"q{n} Q0 {id_} 1 {score!r} t\n" for n, one in named for id_, score in one.items()]
    )


def sorted_ids(scores, by_id):
    """The ids of one list from the best on."""
    ids = sorted(scores, key=lambda id_: id_.encode(), reverse=True) if by_id else list(scores)
    return sorted(ids, key=lambda id_: -scores[id_])  # stable


def ranked(lists, judged_at, by_id):
    """Of each list the number and rank of the judged documents, and how many are tied."""
    run, lengths = run_of(lists), np.array([len(one) for one in lists])
    ordered, row_at = order.with_rows_from_the_best(run.columns.value, lengths)
    n_judged = np.count_nonzero(judged_at >= 0)
    judged_row, ranks = np.empty(n_judged, np.int64), np.empty(n_judged, np.int32)
    n_hits, n_tied = np.empty_like(lengths), np.empty_like(lengths)
    ids = run.text.data, run.columns.doc_start, run.columns.doc_length
    filled = judged_row, ranks, n_hits, n_tied
    n = rank(ordered, row_at, lengths, judged_at, by_id, *ids, *filled)
    return n, [column.tolist() for column in filled]


@settings(max_examples=150, deadline=None)
@given(lists=LISTS, by_id=st.booleans(), share=st.integers(1, 4))
def test_judged_documents_are_ranked_as_in_sorted_lists(lists, by_id, share):
    docs = [(number, id_) for number, one in enumerate(lists) for id_ in one]
    judged_at = np.array([row if row % share == 0 else -1 for row in range(len(docs))])
    is_judged = {doc: at for doc, at in zip(docs, judged_at.tolist(), strict=True) if at >= 0}
    n, (judged_row, ranks, n_hits, n_tied) = ranked(lists, judged_at, by_id)
    expected = [
        [
            (is_judged[number, id_], place)
            for place, id_ in enumerate(sorted_ids(one, by_id))
            if (number, id_) in is_judged
        ]
        for number, one in enumerate(lists)
    ]
    assert list(zip(judged_row, ranks, strict=True)) == list(chain(*expected))
    assert n_hits == [len(one) for one in expected]
    assert n == sum(n_hits)
    values = [list(one.values()) for one in lists]
    assert n_tied == [sum(one.count(value) > 1 for value in one) for one in values]


@pytest.mark.parametrize("n", [63, 64, 65])
@pytest.mark.parametrize("judged", [0, 1])
def test_large_groups_are_refused_if_one_of_them_is_judged(n, judged):
    judged_at = np.full(n + 1, -1)
    judged_at[n - 1 if judged else n] = 0  # the last one has a score of its own
    scores = {f"d{number}": 0.5 for number in range(n)} | {"other": 0.25}
    found, (_, ranks, _, n_tied) = ranked([scores], judged_at, by_id=True)
    if judged and n > 64:
        assert found == -1
        return
    assert (found, n_tied) == (1, [n])
    later = sum(f"d{number}" > f"d{n - 1}" for number in range(n))
    assert ranks == [later if judged else n]


QUERIES = [
    {id_: [0.5, 0.25][number % 2] for number, id_ in enumerate(IDS)},
    dict.fromkeys(IDS, 1.0),
    {f"d{n:03}": float(n) for n in range(30)},
    {f"d{n:03}": 2.0 for n in range(90)},
]


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("n_parts", [1, 2, 4])
@pytest.mark.parametrize("step", [1, 3, 25])
def test_a_part_is_ranked_in_one_way_by_the_loop_and_without_it(by_id, n_parts, step):
    lists = [dict(list(one.items())[::-1]) for one in QUERIES]
    judged = [list(one)[::step] for one in lists]
    lines = [f"q{n} 0 {id_} {n}\n" for n, ids in enumerate(judged) for id_ in ids]
    qrels = rows_of(_QRELS, lines)
    size = len(lists) // n_parts
    firsts = range(0, len(lists), size)
    found = [
        collect_hits(
            (run_of(lists[first : first + size], first) for first in firsts),
            qrels,
            rank=loop,
            by_id=by_id,
        )
        for loop in (None, rank)
    ]
    columns = ("code", "n_retrieved", "n_tied", "n_hits", "rank", "grade")
    for one, other in zip(*(hits.parts for hits in found), strict=True):
        for name in columns:
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    expected = [
        place
        for one, ids in zip(lists, judged, strict=True)
        for place, id_ in enumerate(sorted_ids(one, by_id))
        if id_ in ids
    ]
    assert np.concatenate([part.rank for part in found[0].parts]).tolist() == expected
