"""CI installs the package beside this file and runs the script; pytest imports neither."""

collect_ignore = ["rageval_outside", "use_it.py"]
