"""The command eval: asks a pipeline, scores its answers, reports."""
