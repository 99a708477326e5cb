"""Two pipelines, pair by pair: tests, intervals, effect sizes, equivalence."""
