import json
import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import Result, __version__
from rageval_report.errors import DataError, UnknownNameError


@pytest.fixture
def result():
    frame = pd.DataFrame({"metric": ["recall", "bleu"], "mean": [1 / 3, math.nan], "n": [3, 0]})
    return Result("Means", frame, {"seed": 0, "test": "sign-flip", "percentiles": (25.0, 50.0)})


def test_the_signature_is_sorted_and_ends_with_the_version(result):
    assert result.signature == f"percentiles:25,50|seed:0|test:sign-flip|version:{__version__}"


def test_a_frame_taken_out_can_be_changed_without_changing_the_result(result):
    taken = result.to_frame()
    taken.loc[0, "mean"] = 9
    assert result.frame.loc[0, "mean"] == 1 / 3


def test_the_dict_has_full_precision_and_none_for_nan(result):
    told = result.to_dict()
    assert told["rows"][0] == {"metric": "recall", "mean": 1 / 3, "n": 3}
    assert told["rows"][1]["mean"] is None
    assert told["settings"]["seed"] == 0


def test_the_dict_is_json_whatever_the_cells_hold():
    frame = pd.DataFrame({"x": [np.int64(1), [np.float32(0.5), None], {"a": pd.NA}]}, dtype=object)
    rows = json.loads(json.dumps(Result("t", frame).to_dict()))["rows"]
    assert [row["x"] for row in rows] == [1, [0.5, None], {"a": None}]


@pytest.mark.parametrize(
    ("suffix", "piece"),
    [
        (".md", "| metric"),
        (".html", "<table"),
        (".tex", "\\toprule"),
        (".json", '"schema_version"'),
        (".csv", "metric,mean,n"),
        (".txt", "Means"),
    ],
)
def test_the_suffix_chooses_the_format(result, tmp_path, suffix, piece):
    path = result.save(tmp_path / f"means{suffix}")
    assert piece in path.read_text(encoding="utf-8")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_an_unknown_suffix_is_told(result, tmp_path):
    with pytest.raises(UnknownNameError, match=r"\.docx"):
        result.save(tmp_path / "means.docx")


def test_a_file_that_is_there_is_replaced_or_kept(result, tmp_path):
    path = tmp_path / "means.csv"
    path.write_text("mine")
    with pytest.raises(DataError, match=r"exists already; replace it with force=True"):
        result.save(path, force=False)
    assert path.read_text() == "mine"
    assert result.save(path).read_text() == result.to_csv()
