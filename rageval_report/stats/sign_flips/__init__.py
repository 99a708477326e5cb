"""One test and its interval: every pattern of signs counted exactly, without random numbers."""
