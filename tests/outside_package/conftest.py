"""The package and the script beside this file are for CI, which installs the one and runs the other."""

collect_ignore = ["rageval_outside", "use_it.py"]
