"""Runs and relevance judgments: from dicts, frames and files to retrieval metrics."""
