"""Runs of one pipeline over time: what changed in the scores and in the set-up."""
