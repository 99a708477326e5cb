"""Readers of the files of evaluation frameworks, one module each.

None of them imports the framework whose files it reads. A ``read_...`` function takes the `Source`
of the file, or with `dialect` also its frame, and returns one `ScoreFile` per pipeline. It raises a
`ReaderError` if the file cannot be read or has no scores of queries, and a `ShapeError` if a part
of it has another shape than the framework writes; the docstrings name only further errors.
"""
