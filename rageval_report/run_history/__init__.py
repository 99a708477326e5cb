"""A folder of run files becomes a history: trends and changes over time."""
