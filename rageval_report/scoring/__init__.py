"""Records, rankings, traces and judged sets become evaluations."""
