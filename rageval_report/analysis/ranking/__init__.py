"""Several pipelines in order: leaderboard, groups, weighted score, Pareto front."""
