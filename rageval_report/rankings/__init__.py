"""A run and judgments are joined into a hit table, from whatever holds them."""
