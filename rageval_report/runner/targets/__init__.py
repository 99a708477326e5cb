"""What can be asked: a server, a Python function, a command.

`TARGETS` is the table of them; a new target is one small file here and one line there.
"""

from __future__ import annotations

from rageval_report._registry import Registry
from rageval_report.runner.targets.base import Target

__all__ = ["TARGETS", "Target"]

_HERE = __name__

TARGETS: Registry[type[Target]] = Registry(
    "target",
    {
        "http": f"{_HERE}.http:HttpTarget",
        "callable": f"{_HERE}.functions:FunctionTarget",
        "command": f"{_HERE}.commands:CommandTarget",
    },
    group="rageval_report.targets",
)
