"""The answer of a comparison or a ranking in plain sentences, before any statistics."""
