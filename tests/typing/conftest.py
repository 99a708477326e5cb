"""The files beside this one are for type checkers: pytest neither imports nor runs them."""

collect_ignore = ["check.py", "mistakes.py", "right_uses.py"]
