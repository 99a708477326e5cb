"""The wrapper of sentence-transformers, against a stand-in of that name.

The real library brings 2 GB of torch and is not run here. The stand-in has the signatures of its
releases 5.0 and 6.2, as far as the wrapper uses them.
"""

import importlib
import sys
import textwrap

import pytest

from rageval_report import score
from rageval_report.embeddings import EMBEDDERS, sentence_transformer
from rageval_report.errors import DataError, MissingDependencyError

STAND_IN = """
import numpy as np


class SentenceTransformer:
    def __init__(self, model_name_or_path=None, *, device=None, trust_remote_code=False,
                 revision=None):
        if model_name_or_path == "no-such-model":
            raise OSError("no-such-model is not a local folder and is not a valid identifier")
        self.told = {"device": device, "trust_remote_code": trust_remote_code}
        self.calls = []

    def encode(self, inputs, prompt_name=None, prompt=None, batch_size=32, show_progress_bar=None,
               output_value="sentence_embedding", precision="float32", convert_to_numpy=True,
               convert_to_tensor=False, device=None, normalize_embeddings=False):
        self.calls.append((list(inputs), batch_size, show_progress_bar, prompt_name))
        if prompt_name == "nonsense":
            return np.full((len(inputs), 2), np.nan)
        return np.array([[len(text), text.count(" ") + 1.0] for text in inputs], dtype=precision)
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A small module of the library's name, where Python looks first."""
    (tmp_path / "sentence_transformers.py").write_text(textwrap.dedent(STAND_IN))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    importlib.invalidate_caches()
    yield
    sys.modules.pop("sentence_transformers", None)


def test_the_library_is_told_what_was_asked_and_shows_no_bar(library):
    embed = sentence_transformer("toy", device="cpu", batch_size=7, encode={"prompt_name": "query"})
    embed(["a"])
    assert embed.model.told == {"device": "cpu", "trust_remote_code": False}
    assert embed.model.calls == [(["a"], 7, False, "query")]


def test_a_model_that_gives_no_numbers_is_told(library):
    with pytest.raises(DataError, match="the vector of text 0 has NaN"):
        sentence_transformer("toy", encode={"prompt_name": "nonsense"})(["a"])


def test_the_table_knows_it_and_metrics_take_it(library):
    embed = EMBEDDERS["sentence-transformers"]("toy")
    rows = [{"query_id": "q", "answer": "a b", "reference": ["c d"]}]
    evaluation = score(rows, "semantic_answer_similarity", embed=embed)
    assert evaluation.get_aggregated_scores("semantic_answer_similarity") == pytest.approx(1.0)


def test_without_the_library_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match="'sentence_transformers', which is not"):
        sentence_transformer("toy")
