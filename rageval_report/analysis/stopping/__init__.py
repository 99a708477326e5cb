"""Evaluations that stop when they know: rules, the evidence for them, and when it is enough."""
