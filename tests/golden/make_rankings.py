"""Write a made-up run with its judgments, and what pytrec_eval and ranx say of them.

    python tests/golden/make_rankings.py inputs
    python tests/golden/make_rankings.py pytrec_eval     # pip install pytrec-eval-terrier==0.5.11
    python tests/golden/make_rankings.py ranx            # pip install ranx==0.3.21
    python tests/golden/make_rankings.py trec_dl19 FOLDER_OF_TREC_DL19

The run has tied scores (multiples of 1/8, which are the same in single precision), a judged query
that it misses, and one that was not judged; grades go from -1 to 3. ranx orders ties otherwise than
trec_eval, so it is given the ranks of trec_eval's order as scores.
"""

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RUN, QRELS = HERE / "rankings.run", HERE / "rankings.qrels"
MEASURES = {
    *("P.1,5,10", "recall.1,5,10", "success.1,5,10", "ndcg_cut.1,5,10", "map_cut.5,10"),
    *("map", "ndcg", "recip_rank", "Rprec", "bpref", "set_P", "set_recall"),
}
RANX_MEASURES = [
    *("precision@5", "recall@5", "f1@1", "f1@5", "f1@10", "hit_rate@5", "mrr", "mrr@3", "map"),
    *("map@5", "ndcg@5", "ndcg_burges@5", "ndcg_burges@10", "r-precision"),
]
DL19_RUNS = ["BM25", "D_BERT_KD_TASB", "SPLADE_P_P_ENSEMBLE_DISTIL"]
DL19_MEASURES = {"map", "ndcg", "recip_rank", "bpref", "Rprec", "P.10", "recall.100", "ndcg_cut.10"}


def write_inputs():
    draw = random.Random(20)
    run, qrels = [], []
    for query in range(14):
        docs = [f"d{one}" for one in draw.sample(range(60), 40)]
        if query != 3:  # judged, and missing from the run
            run += [
                f"q{query} Q0 {doc} {rank} {draw.randrange(160) / 8} made\n"
                for rank, doc in enumerate(docs[: draw.randrange(1, 31)], 1)
            ]
        if query != 5:  # in the run, and not judged
            graded = draw.sample(docs, draw.randrange(2, 13))
            # pytrec_eval does not come back from a query without a relevant document
            grades = [2, *(draw.choice([-1, 0, 0, 1, 2, 3]) for _ in graded[1:])]
            pairs = zip(graded, grades, strict=True)
            qrels += [f"q{query} 0 {doc} {grade}\n" for doc, grade in pairs]
    RUN.write_text("".join(run), encoding="utf-8")
    QRELS.write_text("".join(qrels), encoding="utf-8")


def read_run(path):
    run = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    return run


def read_qrels(path):
    qrels = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    return qrels


def by_pytrec_eval(run, qrels, measures, level=1):
    import pytrec_eval

    return pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level).evaluate(run)


def make_pytrec_eval():
    run, qrels = read_run(RUN), read_qrels(QRELS)
    values = {str(level): by_pytrec_eval(run, qrels, MEASURES, level) for level in (1, 2)}
    write("rankings_pytrec_eval.json", "pytrec-eval-terrier", "pytrec_eval", values)


def make_ranx():
    import ranx

    run, qrels = read_run(RUN), read_qrels(QRELS)
    both = sorted(run.keys() & qrels.keys())
    ranked = ranx.Run({query: ranks_as_scores(run[query]) for query in both})
    judged = ranx.Qrels({query: qrels[query] for query in both})
    told = ranx.evaluate(judged, ranked, RANX_MEASURES, return_mean=False)
    values = {
        measure: dict(zip(both, map(float, column), strict=True))
        for measure, column in told.items()
    }
    write("rankings_ranx.json", "ranx", "ranx", values)


def ranks_as_scores(docs):
    in_order = sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)
    return {doc: float(-rank) for rank, doc in enumerate(in_order)}


def make_trec_dl19(folder):
    qrels = read_qrels(folder / "qrels.dl19-passage.txt")
    values = {
        name: by_pytrec_eval(read_run(folder / f"run.{name}.dl19.txt"), qrels, DL19_MEASURES)
        for name in DL19_RUNS
    }
    command = "trec_dl19 FOLDER_OF_TREC_DL19"
    write("trec_dl19_pytrec_eval.json", "pytrec-eval-terrier", command, values)


def write(name, tool, command, values):
    told = {
        "tool": tool,
        "version": version(tool),
        "command": f"python tests/golden/make_rankings.py {command}",
        "values": values,
    }
    (HERE / name).write_text(json.dumps(told, sort_keys=True, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    made = {"inputs": write_inputs, "pytrec_eval": make_pytrec_eval, "ranx": make_ranx}
    if sys.argv[1:2] == ["trec_dl19"]:
        make_trec_dl19(Path(sys.argv[2]))
    else:
        made[sys.argv[1]]()
