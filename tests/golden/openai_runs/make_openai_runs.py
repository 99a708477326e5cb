"""Write output items of OpenAI's Evals API, with the types of its library.

    python tests/golden/openai_runs/make_openai_runs.py     # pip install openai==3.54.0

The API itself needs an account: the items are put together by hand and checked by the library.
"""

import json
from pathlib import Path

from openai.types.evals.runs import OutputItemListResponse

HERE = Path(__file__).parent
QUESTIONS = ["Who wrote Emma?", "Capital of Italy?", "What is RAG?"]
ANSWERS = ["Jane Austen", "It is Rome", ""]
GRADES = {
    "run_a": [(1.0, 0.75), (0.0, 1.0), (0.0, 0.0)],
    "run_b": [(1.0, 1.0), (1.0, 0.5), (1.0, 0.25)],
}


def item(run, place):
    is_failed = run == "run_a" and place == 2
    match, overlap = GRADES[run][place]
    error = {"code": "server_error", "message": "the model timed out"} if is_failed else {}
    return {
        "id": f"outputitem_{run}_{place}",
        "object": "eval.run.output_item",
        "created_at": 1748932460 + place,
        "run_id": run,
        "eval_id": "eval_1",
        "status": "error" if is_failed else "pass" if match else "fail",
        "datasource_item_id": place,
        "datasource_item": {"question": QUESTIONS[place], "reference": "text"},
        "results": [
            {
                "name": "string_check",
                "type": "string_check",
                "passed": match == 1.0,
                "score": match,
            },
            {
                "name": "overlap",
                "type": "text_similarity",
                "passed": overlap > 0.5,
                "score": overlap,
            },
        ],
        "sample": {
            "error": {"code": "", "message": "", **error},
            "finish_reason": "stop",
            "input": [{"role": "user", "content": QUESTIONS[place]}],
            "max_completion_tokens": 100,
            "model": "gpt-4.1-mini",
            "output": [{"role": "assistant", "content": ANSWERS[place]}],
            "seed": 1,
            "temperature": 0.0,
            "top_p": 1.0,
            "usage": {
                "cached_tokens": 0,
                "completion_tokens": 3,
                "prompt_tokens": 10 + place,
                "total_tokens": 13 + place,
            },
        },
    }


def checked(content):
    return OutputItemListResponse.model_validate(content).model_dump(mode="json")


if __name__ == "__main__":
    page = [checked(item("run_a", place)) for place in range(3)]
    document = {"object": "list", "data": page, "first_id": page[0]["id"], "has_more": False}
    (HERE / "page.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    both = [checked(item(run, place)) for place in (2, 0, 1) for run in GRADES]
    lines = "".join(json.dumps(one) + "\n" for one in both)
    (HERE / "items.jsonl").write_text(lines, encoding="utf-8")
