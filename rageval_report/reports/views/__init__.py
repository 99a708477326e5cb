"""The parts of a page that are drawn: each is a frozen object with a template of its own."""
