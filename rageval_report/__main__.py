"""``python -m rageval_report`` is the command ``rageval-report``."""

from rageval_report.cli import main

if __name__ == "__main__":
    main()
