"""Write what sacrebleu and rouge-score say of the answers in texts.json, which are written by hand.

python tests/golden/make_texts.py sacrebleu      # pip install sacrebleu==2.6.0
python tests/golden/make_texts.py rouge-score    # pip install rouge-score==0.1.2
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))["texts"]


def by_sacrebleu():
    import sacrebleu

    answers, references = [one["answer"] for one in TEXTS], [one["references"] for one in TEXTS]
    pairs = list(zip(answers, references, strict=True))
    most = max(map(len, references))
    streams = [[some[i] if i < len(some) else None for some in references] for i in range(most)]
    return {
        "sentence_bleu": [sacrebleu.sentence_bleu(a, some).score for a, some in pairs],
        "sentence_chrf": [sacrebleu.sentence_chrf(a, some).score for a, some in pairs],
        "corpus_bleu": sacrebleu.corpus_bleu(answers, streams).score,
    }


def by_rouge_score():
    from rouge_score import rouge_scorer

    values = {}
    for stem in (True, False):
        scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stem)
        values["stemmed" if stem else "plain"] = [
            [
                {name: list(figures) for name, figures in scorer.score(one, text["answer"]).items()}
                for one in text["references"]
            ]
            for text in TEXTS
        ]
    return values


if __name__ == "__main__":
    tool = sys.argv[1]
    told = {
        "tool": tool,
        "version": version(tool),
        "command": f"python tests/golden/make_texts.py {tool}",
        "values": {"sacrebleu": by_sacrebleu, "rouge-score": by_rouge_score}[tool](),
    }
    name = f"texts_{tool.replace('-', '_')}.json"
    (HERE / name).write_text(json.dumps(told, sort_keys=True, indent=0) + "\n", encoding="utf-8")
