"""`read_scores`: every pipeline of a file, a folder or an address as an evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from rageval_report.evaluation.evaluation import RAGPipelineEvaluation, rule_of_rows
from rageval_report.scores import Correct
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles.column_role import Roles
from rageval_report.scores.table import Duplicates, MetricsArgument

if TYPE_CHECKING:
    from rageval_report.metrics.ranking_inputs import DuplicateDocs
    from rageval_report.readers.base import Reader, ReaderOptions
    from rageval_report.readers.table_inputs import ScoreInput
    from rageval_report.sources.base import FilesArgument


def read_scores(
    path: ScoreInput,
    *,
    reader: str | Reader | None = None,
    pipeline: str | None = None,
    query_id: str | None = None,
    metrics: MetricsArgument = None,
    correct: Correct | None = None,
    duplicates: Duplicates | DuplicateDocs = "error",
    totals: Totals = "auto",
    strict: bool = False,
    roles: Roles | None = None,
    allow: str | Iterable[str] = (),
    files: FilesArgument = "auto",
    **options: Unpack[ReaderOptions],
) -> dict[str, RAGPipelineEvaluation]:
    r"""Read every pipeline of a file, a folder or an address, or score a ranking.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, frame, mapping, or iterable
        Any readable file, gzipped or not; "-" is standard input. Or a folder, a glob such as
        ``"runs/*.csv"``, or a list of files. Or an address of the table
        ``rageval_report.sources.SOURCES``, such as ``"sqlite:///scores.db?table=scores"``. Or the
        contents of a file, or a table in memory: dicts and lists of dicts are read as JSON
        documents of the same content would be. A pipeline whose name the input does not state is
        named "pipeline".
    reader : str, optional
        A name of the table ``rageval_report.readers.READERS``; if omitted, the format is
        recognised.
    pipeline : str, optional
        Only this pipeline.
    query_id, correct, totals, roles
        As for `RAGPipelineEvaluation`.
    metrics, duplicates
        As for `RAGPipelineEvaluation`, or, for a ranking, as for `rageval_report.score_rankings`;
        a ranking has usual metrics if they are omitted, and a note names them.
    strict : bool
        Whether a doubt about the scores is an error, and a score slightly outside the bounds of its
        metric.
    allow : str or iterable of str
        As for `RAGPipelineEvaluation`.
    files : {"auto", "parts", "evaluations"}
        How several files belong together: "parts" of one table are put together, "evaluations" are
        one per file. "auto" looks at the query ids: if none is in two files, they are parts; if at
        least half of them are, they are evaluations. A note says which it is.
    **options
        The options of the reader, such as ``delimiter=``, or the judgments ``qrels=`` of a ranking;
        `ReaderOptions` has them all.

    Returns
    -------
    dict of str to RAGPipelineEvaluation
        By the name of the pipeline.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("q1 Q0 d7 1 0.9 t\nq1 Q0 d8 2 0.5 t\n")
    ...     runs = read_scores(path, qrels={"q1": {"d8": 1}}, metrics=["mrr", "recall@5"])
    >>> runs["bm25"].scores.loc["q1"].to_dict()
    {'mrr': 0.5, 'recall@5': 1.0}
    """
    from rageval_report.readers import pick_pipeline
    from rageval_report.sources.reading import read

    score_files = read(
        path,
        files=files,
        reader=reader,
        query_id=query_id,
        metrics=metrics,
        duplicates=duplicates,
        roles=roles,
        totals=totals,
        **options,
    )
    if pipeline is not None:
        score_files = [pick_pipeline(score_files, pipeline, path)]
    return {
        file.pipeline: RAGPipelineEvaluation.from_score_file(
            *(None, file, path),
            query_id=query_id,
            metrics=metrics,
            correct=correct,
            duplicates=rule_of_rows(duplicates),
            totals=totals,
            strict=strict,
            roles=roles,
            allow=allow,
        )
        for file in score_files
    }
