"""The rubrics that are shipped. One more is a `Rubric` here and a line in `JUDGES`."""
