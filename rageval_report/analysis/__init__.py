"""Scores become results: each analysis takes evaluations and gives a `Result`."""
