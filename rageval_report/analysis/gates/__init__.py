"""Gates: rules such as "ci_low(recall@5) >= 0.7", and whether a pipeline meets them."""
