"""Judge against people: coefficients of agreement, and means put right by a few people's labels.

Ratings are numbers or names; None and NaN are missing. A coefficient is 1 where all agree and 0
where they agree as often as chance would have it, and each has its own idea of chance.
"""
