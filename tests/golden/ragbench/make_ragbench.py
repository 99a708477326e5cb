"""Write runs in the forms of the ragbench evaluation framework (gittycat/ragbench); run by hand.

The framework needs a running server, so these files are made key by key after its writers: the run
without ids after runner.py of commit 7687397 (July 2026), per_question and the samples after
runner.py, metrics/base.py and samples.py as published in August 2026.
"""

import json
from pathlib import Path

HERE = Path(__file__).parent
CONFIG = {
    "llm_model": "gemma3:4b",
    "llm_provider": "ollama",
    "embedding_model": "nomic-embed-text:latest",
    "reranker_model": None,
    "retrieval_top_k": 10,
    "hybrid_search_enabled": False,
    "contextual_retrieval_enabled": False,
}
# Of five questions: None where it does not apply, absent where the judge failed.
SCORES = {
    "recall_at_5": ("retrieval", {"q1": 1.0, "q2": 0.5, "q3": 0.0, "q4": 1.0, "q5": 0.25}),
    "faithfulness": ("generation", {"q1": 1.0, "q2": 0.75, "q4": 0.5, "q5": 0.9}),
    "abstention_false_positive_rate": ("abstention", {"q1": 0.0, "q2": 1.0, "q3": 0.0}),
}
N_NOT_APPLICABLE = {"abstention_false_positive_rate": 2}


def metric(name, group, cells, *, with_ids):
    values = list(cells.values())
    mean = sum(values) / len(values)
    deviation = (sum((one - mean) ** 2 for one in values) / len(values)) ** 0.5
    details = {"individual_scores": values, "std_dev": deviation}
    if with_ids:
        details |= {"per_question": cells, "not_applicable_count": N_NOT_APPLICABLE.get(name, 0)}
    row = {"name": name, "value": mean, "group": group, "sample_size": len(values)}
    return row | {"details": details}


def run(name, *, with_ids):
    metrics = [metric(one, *told, with_ids=with_ids) for one, told in SCORES.items()]
    p50 = {"name": "latency_p50_ms", "value": 812.5, "group": "performance", "sample_size": 5}
    metrics.append(p50 | {"details": {}})
    if with_ids:
        undefined = {"name": "citation_recall", "value": None, "group": "citation"}
        metrics.append(undefined | {"sample_size": 0, "details": {"not_applicable_count": 5}})
    by_group = {}
    for one in metrics:
        by_group.setdefault(one["group"], []).append(one["name"])
    return {
        "id": "a1b2c3d4",
        "name": name,
        "created_at": "2026-07-17T10:30:00",
        "completed_at": "2026-07-17T10:35:00",
        "config": CONFIG,
        "datasets": ["squad_v2"],
        "scorecard": {"metrics": metrics, "by_group": by_group},
        "weighted_score": {"score": 0.7, "weights": {}, "contributions": {}, "objectives": {}},
        "question_count": 6,
        "error_count": 1,
        "duration_seconds": 300.0,
        "metadata": {"samples_per_dataset": 6, "seed": 42, "tier": "generation"},
    }


def sample(place):
    chunk = {"doc_id": f"d{place}", "chunk_id": f"d{place}:1"}
    return {
        "question": {
            "id": f"q{place}",
            "question": f"What is {place}?",
            "expected_answer": None if place > 3 else f"It is {place}.",
            "query_type": "factoid",
            "difficulty": "medium",
            "domain": "wiki",
            "is_unanswerable": place > 3,
            "metadata": {},
            "gold_passages": [chunk | {"text": f"It is {place}.", "relevance_score": 1.0}],
        },
        "response": {
            "question_id": f"q{place}",
            "answer": f"It is {place} [1].",
            "session_id": None,
            "latency_ms": 800.0 + place,
            "token_usage": {"prompt_tokens": 100, "completion_tokens": place, "total_tokens": 100},
            "citations": [{"source_index": 1, **chunk, "chunk_index": None, "text_span": None}],
            "retrieved_chunks": [chunk | {"text": "A text.", "score": 0.9, "rank": 1}],
        },
    }


def main():
    samples = {"run_id": "a1b2c3d4", "count": 5, "samples": [sample(one) for one in range(1, 6)]}
    files = {
        "run_without_ids.json": run("eval-old", with_ids=False),
        "run.json": run("eval-new", with_ids=True),
        "run_samples.json": samples,
    }
    for name, content in files.items():
        (HERE / name).write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
