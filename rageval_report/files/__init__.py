"""Files as bytes, text and JSON: recognised, read safely, and written atomically."""
