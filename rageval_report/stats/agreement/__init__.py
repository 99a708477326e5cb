"""Judge against people: coefficients of agreement, and means corrected using a few labels.

Ratings are numbers or names; None and NaN are missing. A coefficient is 1 if all agree and 0 if
they agree as often as by chance; each coefficient has its own model of chance.
"""
