"""Names and rules of other systems, as the systems themselves spell them."""

from types import SimpleNamespace

import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores.catalogue.dialects import (
    ANY_GRADE,
    DIALECTS,
    Dialect,
    dialect_of_name,
    dialect_settings,
    note_on_dialects,
    note_on_percentiles,
)


def run(name, dialect=None):
    return SimpleNamespace(name=name, config={} if dialect is None else {"dialect": dialect})


# -- names


@pytest.mark.parametrize(
    ("dialect", "name", "column", "known_as"),
    [
        ("datapizza", "recall_at_5_exact", "recall_at_5_exact", "recall@5"),
        ("datapizza", "Precision_at_10_exact", "precision_at_10_exact", "precision@10"),
        ("haystack", "document_mrr", "document_mrr", "reciprocal_rank"),
        ("haystack", "single_hit", "single_hit", "document_recall_single_hit"),
        ("ragbench", "recall_at_5", "recall@5", "recall@5"),
        ("ragbench", "recall@5", "recall@5", "recall@5"),
        ("ragbench", "mrr", "mrr", "reciprocal_rank"),
        ("ragbench", " MRR ", "mrr", "reciprocal_rank"),
        ("ragbench", "reciprocal rank", "mrr", "reciprocal_rank"),
        ("wfgy", "recall_at_5", "recall@5", "full_recall@5"),
    ],
)
def test_a_metric_is_found_by_the_name_of_the_system_or_of_the_catalogue(
    dialect, name, column, known_as
):
    found = DIALECTS[dialect].find(name)
    assert found.name == column
    assert found.title.endswith(f"({dialect})")
    assert found.known_as == known_as


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("ragbench", "recall"),  # has a cutoff there
        ("ragbench", "recall@0"),
        ("ragbench", "recall_at_0"),
        ("ragbench", "recall_at_x"),
        ("ragbench", "recall_at_1234567890"),
        ("ragbench", "bleu"),
        ("ragbench", "no such metric"),
        ("haystack", "document_mrr@5"),
        ("haystack", "reciprocal_rank@5"),
    ],
)
def test_a_metric_that_the_system_does_not_have_is_not_found(dialect, name):
    assert DIALECTS[dialect].find(name) is None


def test_a_metric_with_a_definition_of_its_own_has_its_function_and_bounds():
    ndcg = DIALECTS["ragbench"].find("ndcg_at_10")
    assert ndcg.compute == "rageval_report.metrics.dialect_metrics:ndcg_with_repeats"
    assert (ndcg.kind, ndcg.bounds) == ("real", None)  # a repeat gains again: it may exceed 1
    precision = DIALECTS["ragbench"].find("precision_at_3")
    assert precision.compute == "rageval_report.metrics.dialect_metrics:precision_of_retrieved"
    assert (precision.kind, precision.bounds) == ("proportion", (0.0, 1.0))
    assert precision.needs != "gold_and_traces"
    assert DIALECTS["wfgy"].find("recall_at_5").needs == "gold_and_traces"


def test_the_metrics_of_a_systems_own_configuration_have_its_cutoffs():
    ragbench = DIALECTS["ragbench"]
    assert ragbench.default_names()[:8] == [
        *("recall_at_1", "recall_at_3", "recall_at_5", "recall_at_10"),
        *("precision_at_1", "precision_at_3", "precision_at_5", "mrr"),
    ]
    assert ragbench.names()[:3] == ["recall_at_{k}", "precision_at_{k}", "mrr"]
    haystack = DIALECTS["haystack"]
    assert "single_hit" in haystack.names()
    assert "single_hit" not in haystack.default_names()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_metric_of_a_dialect_is_found_by_its_own_name(dialect):
    rules = DIALECTS[dialect]
    found = [rules.find(name) for name in rules.default_names()]
    assert None not in found
    assert len({metric.name for metric in found}) == len(found)


def test_a_dialect_is_found_by_its_name():
    assert dialect_of_name(None) is None
    assert dialect_of_name("haystack") is DIALECTS["haystack"]
    with pytest.raises(UnknownNameError, match=r"dialect must be .*haystack.*; got \"haystac\""):
        dialect_of_name("haystac")


# -- rules


def test_options_are_completed_by_the_rules():
    rules = Dialect("wfgy", "a system", no_relevant=None)
    assert rules.settle(duplicates=None, no_relevant="zero", relevance_level=None) == {
        "duplicates": "keep",
        "no_relevant": "zero",
        "relevance_level": ANY_GRADE,
    }
    assert rules.settle(duplicates="keep", no_relevant=None) == {
        "duplicates": "keep",
        "no_relevant": None,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"duplicates": "best"},
            'duplicates="best" contradicts dialect="ragbench", which has duplicates="keep"; leave '
            "out one of the two",
        ),
        (
            {"relevance_level": 2.0},
            'relevance_level=2 contradicts dialect="ragbench", which has relevance_level=any '
            "grade above 0; leave out one of the two",
        ),
    ],
)
def test_an_option_that_contradicts_a_rule_is_refused_with_both(options, message):
    with pytest.raises(DataError) as caught:
        DIALECTS["ragbench"].settle(**options)
    assert str(caught.value) == message


# -- what an evaluation records


@pytest.mark.parametrize(
    ("dialects", "settings"),
    [
        ([], {}),
        ([None, None], {}),
        (["wfgy"], {"dialect": "wfgy"}),
        (["wfgy", "wfgy"], {"dialect": "wfgy"}),
        (["wfgy", None], {"dialect": "wfgy,none"}),
        (["wfgy", "haystack", "wfgy"], {"dialect": "wfgy,haystack,wfgy"}),
    ],
)
def test_the_setting_of_a_result_names_one_dialect_or_each(dialects, settings):
    assert dialect_settings([run(str(n), name) for n, name in enumerate(dialects)]) == settings


@pytest.mark.parametrize(
    ("dialect", "method", "notes"),
    [
        (None, "linear", ()),
        (None, "upper", ("percentiles: upper",)),
        ("wfgy", "linear", ('percentiles: linear, the rule of dialect="wfgy"',)),
        ("haystack", "linear", ('percentiles: linear, as this call says; exclusive is the rule of '
                                'dialect="haystack"',)),
    ],
)  # fmt: skip
def test_the_rule_of_percentiles_is_noted_unless_it_is_the_usual_one(dialect, method, notes):
    assert note_on_percentiles(run("a", dialect), method) == notes


def test_pipelines_that_were_scored_by_different_rules_are_noted():
    same = [run("a", "wfgy"), run("b", "wfgy")]
    assert note_on_dialects(same) == note_on_dialects([run("a"), run("b")]) == ()
    assert note_on_dialects([*same, run("c")]) == (
        "the pipelines were not scored by the same rules: 'a', 'b' with dialect=\"wfgy\"; 'c' with "
        "no dialect. A difference may come from the rules alone; score all of them with one "
        "dialect",
    )
    three = note_on_dialects([*same, run("c"), run("d", "haystack")])
    assert three[0].count(" with ") == 4
