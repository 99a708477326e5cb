"""The commands for golden sets: check, split, generate, review, evaluate."""
