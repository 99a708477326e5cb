"""Files, frames and databases of scores and records: what is read from each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from promises import DATA, shared_data
from views import attempts, evaluation, folder, inputs

import rageval_report as rr

PUBLIC = (
    "autorag_result_project beir_arguana_sample beir_nfcorpus_qrels clapnq_dev "
    "cognee_memory_hotpotqa continuous_eval_fixtures deepeval_beeai fastgraphrag_2wiki_51 "
    "haystack_aragog hotpotqa_sample inspect_ai_logs lm_eval_truthfulqa mtrag_human_eval "
    "mtrag_retrieval_govt promptfoo_retrieval qasper_fixture ragas_elasticsearch_books "
    "ragchecker_examples squad_v2_sample tonic_validate_runs trec_eval_official_test trulens_judges"
).split()


def squad(questions: Path, predictions: Path) -> dict[str, Any]:
    """Answers by question id, scored on SQuAD's questions."""
    records = rr.load_dataset("squad_v2", questions)
    records["answer"] = pd.Series(json.loads(predictions.read_text("utf-8")))
    return evaluation(rr.score(records, ["exact_match_squad", "token_f1"]), details=False)


def public_squad() -> dict[str, Any]:
    """BERT's answers to the questions on the Normans."""
    place = shared_data("squad_v2_sample")
    return squad(place / "dev-v2.0.sample.json", place / "predictions.BERT.json")


def sqlite(query: str) -> Callable[[], Any]:
    """What is read from a table or by a query."""
    return lambda: rr.read_scores(
        f"sqlite:///{shutil.copy(DATA / 'forms' / 'scores.sqlite', '.')}?{query}"
    )


def duckdb() -> Any:
    """The same table in DuckDB."""
    import duckdb

    Path("scores.duckdb").unlink(missing_ok=True)
    with duckdb.connect("scores.duckdb") as connection:
        connection.execute(f"create table runs as from '{DATA / 'forms' / 'parquet.parquet'}'")
    return rr.read_scores("duckdb:///scores.duckdb?table=runs")


DATABASES = {
    "sqlite": sqlite("table=runs"),
    "duckdb": duckdb,
    "query": sqlite("query=SELECT query_id, exact_match FROM runs"),
    "query that writes": sqlite("query=DELETE FROM runs"),
    "no such table": sqlite("table=walks"),
}

CALLS: dict[str, Callable[[], Any]] = {
    **{f"format {p.name}": partial(folder, p) for p in sorted((DATA / "formats").iterdir())},
    **{f"public {name}": lambda name=name: folder(shared_data(name)) for name in PUBLIC},
    **inputs("public"),
    "public squad": public_squad,
    "squad": lambda: squad(DATA / "sets" / "squad.json", DATA / "sets" / "squad_predictions.json"),
    "forms of a table": partial(folder, DATA / "forms"),
    "databases": attempts(DATABASES),
    **inputs("readers"),
}
