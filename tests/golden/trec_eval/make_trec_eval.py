"""Write what pytrec_eval and BEIR give: pip install pytrec_eval-terrier==0.5.11, and
pip install --no-deps beir==2.2.0 numpy requests tqdm, then run this. torch, which BEIR imports and
does not need here, is stood in for.

The run and the judgments are those of the folder above, rankings.run and rankings.qrels.
"""

import importlib.util
import json
import sys
from importlib.metadata import distribution, version
from pathlib import Path
from types import ModuleType

import pytrec_eval

HERE = Path(__file__).parent


def read(path, key, value, number):
    found = {}
    for line in path.read_text().splitlines():
        words = line.split()
        found.setdefault(words[0], {})[words[key]] = number(words[value])
    return found


def save_results():
    """BEIR's function, without what its package imports around it."""
    sys.modules.setdefault("torch", ModuleType("torch"))
    path = distribution("beir").locate_file("beir/util.py")
    spec = importlib.util.spec_from_file_location("beir_util", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.save_results


def main():
    run = read(HERE.parent / "rankings.run", 2, 4, float)
    qrels = read(HERE.parent / "rankings.qrels", 2, 3, int)
    measures = {"ndcg_cut.10", "map", "recip_rank", "P.5", "recall.10", "num_rel_ret"}
    scores = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    (HERE / "pytrec_eval.json").write_text(json.dumps(scores, indent=1, sort_keys=True) + "\n")

    def means(name, measure):
        return {name: round(sum(one[measure] for one in scores.values()) / len(scores), 5)}

    save_results()(
        str(HERE / "beir_results.json"),
        *(means("NDCG@10", "ndcg_cut_10"), means("MAP@1000", "map")),
        *(means("Recall@10", "recall_10"), means("P@5", "P_5"), means("MRR@10", "recip_rank")),
    )
    manifest = {name: version(name) for name in ("pytrec_eval-terrier", "beir")}
    (HERE / "manifest.json").write_text(json.dumps(manifest) + "\n")


if __name__ == "__main__":
    main()
