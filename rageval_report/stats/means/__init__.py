"""One pipeline: intervals of a mean or a quantile, the bootstrap, the plain numbers of a column."""
