"""Files as bytes, texts and JSON: told apart, opened with care, written whole or not at all."""
