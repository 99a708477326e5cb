"""Readers of the files of evaluation frameworks: a description each, and what it cannot say.

None of them imports the framework whose files it reads. ``formats.toml`` describes the formats, the
modules group the readers by the kind of tool. A ``read_...`` function takes the `Source` of the
file, or its frame too, and returns one `ScoreFile` per pipeline. It raises a `ReaderError` if the
file cannot be read or has no scores of queries, and a `ShapeError` if a part of it has another
shape than the framework writes; the docstrings name only further errors.
"""
