"""The prices of the pipeline's models on the command line and in a file."""

from __future__ import annotations

import pytest

from rageval_report import RAGPipelineEvaluation


def test_the_command_takes_prices_from_options_and_the_file(folder, run):
    (folder / "priced_rag.py").write_text(
        "def answer(question):\n"
        "    usage = {'prompt_tokens': 2000, 'completion_tokens': 500}\n"
        "    return {'answer': 'Oslo', 'usage': usage, 'model': 'small'}\n"
    )
    (folder / "q.csv").write_text("query_id,question,reference\na,Norway?,Oslo\n")
    (folder / "eval.yaml").write_text(
        "target: 'priced_rag:answer'\nrecords: q.csv\nprices: {small: [1, 2], large: [9, 9]}\n"
    )
    result = run("eval --config eval.yaml -o run --pipeline-price small=3:4")
    assert result.exit_code == 0, result.stderr
    kept = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert kept.scores["cost_usd"].tolist() == pytest.approx([(2000 * 3 + 500 * 4) / 1e6])
    assert "Costs" in result.stdout
    plain = run("eval --config eval.yaml -o plain")
    assert plain.exit_code == 0
    kept = RAGPipelineEvaluation.load(None, "plain/scores.json")
    assert kept.scores["cost_usd"].tolist() == pytest.approx([(2000 * 1 + 500 * 2) / 1e6])


def test_a_wrong_price_on_the_command_line_is_refused(folder, refused):
    told = refused("eval --callable a:b --records q.csv -o run --pipeline-price small=3")
    assert "expected SENT:RECEIVED" in told
