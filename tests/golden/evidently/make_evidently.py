"""Write the frame of an Evidently data set with tests, offline; descriptors are functions.

python make_evidently.py, with evidently and pandas 2 in the environment.
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import numpy as np
import pandas as pd
from evidently import DataDefinition, Dataset, Report
from evidently.core.datasets import DatasetColumn
from evidently.descriptors import CustomDescriptor, ExactMatch, TestSummary, TextLength
from evidently.legacy.core import ColumnType
from evidently.presets import TextEvals
from evidently.tests import gte, lte

HERE = Path(__file__).parent


def faithfulness(data: Dataset) -> DatasetColumn:
    return DatasetColumn(ColumnType.Numerical, pd.Series([1 / 3, np.nan, 1.0, 0.0]))


def main() -> None:
    frame = pd.DataFrame({
        "question": ["Who wrote Dune?", "Where is Oslo?", "Who is he?", "Why?"],
        "answer": ["Frank Herbert", "Norway", "A man", ""],
        "reference": ["Frank Herbert", "Oslo", "A man", "So"],
    })  # fmt: skip
    dataset = Dataset.from_pandas(
        frame,
        data_definition=DataDefinition(text_columns=list(frame)),
        descriptors=[
            CustomDescriptor(
                alias="faithfulness", func=faithfulness, tests=[gte(0.5, column="faithfulness")]
            ),
            TextLength("answer", alias="Length", tests=[lte(10)]),
            ExactMatch(columns=["answer", "reference"], alias="Exact"),
            TestSummary(success_all=True, alias="Test summary"),
        ],
    )  # fmt: skip
    rows = dataset.as_dataframe()
    rows.to_csv(HERE / "rows.csv", index=False)
    rows.to_json(HERE / "rows.json", orient="records", indent=1)
    report = Report([TextEvals()]).run(dataset, None)
    told = json.loads(report.json())
    (HERE / "report.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    means = {
        one["config"]["column"]: one["value"]
        for one in told["metrics"]
        if one["metric_name"].startswith("MeanValue")
    }
    expected = {
        "means": means,
        "versions": {name: importlib.metadata.version(name) for name in ("evidently", "pandas")},
        "command": "python make_evidently.py",
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
