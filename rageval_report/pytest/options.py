"""The files that the options of the plug-in, or the configuration file of pytest, name."""

from __future__ import annotations

from pathlib import Path

import pytest


def is_requested(config: pytest.Config) -> bool:
    """Whether the command line asks for gates; the configuration file alone does not."""
    return bool(config.getoption("rageval") or config.getoption("rageval_gates"))


def file_named(config: pytest.Config, name: str) -> str:
    """The file of an option, or else of the configuration; empty if none is named."""
    on_command_line = config.getoption(f"rageval_{name}")
    if on_command_line:
        return str(on_command_line)
    configured = str(config.getini(f"rageval_{name}"))
    # A path in a configuration file is relative to that file, as pytest's own are.
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    beside = folder / configured
    return str(beside) if configured and beside.exists() else configured


def require_file(config: pytest.Config, name: str) -> str:
    """The file of an option; without one, the test or the session fails."""
    path = file_named(config, name)
    if not path:
        raise pytest.UsageError(
            f"--rageval-{name} is missing: name a file, or set rageval_{name} in the configuration "
            "file of pytest"
        )
    return path


def gates_path(config: pytest.Config) -> Path:
    """The file of gates."""
    return config.invocation_params.dir / require_file(config, "gates")
