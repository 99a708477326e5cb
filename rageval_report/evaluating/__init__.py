"""Ask a pipeline, score and judge its answers, weigh, gate and report: one call."""
