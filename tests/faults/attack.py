"""What the attacks share: what they found, and the command line.

Each script beside this file is an attack: ``python tests/faults/flip_bits.py --n 10000 --seed 0``.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Found:
    """What was tried, what did not hold, and the inputs with which it did not."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    inputs: list[bytes] = field(default_factory=list)

    def fault(self, text: str, content: bytes = b"") -> None:
        """Note what did not hold."""
        self.faults.append(text)
        if content:
            self.inputs.append(content)


def main(doc: str, attack: Callable[[int, int], Found], n: int) -> int:
    """Run an attack as the command line says, and print what was found; the exit code."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=n, help=f"tries; default {n}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for the inputs of faults")
    options = parser.parse_args()
    started = time.monotonic()
    found = attack(options.n, options.seed)
    lines = [f"{count:8,}  {name}" for name, count in sorted(found.counts.items())]
    lines += [f"FAULT  {fault}" for fault in found.faults]
    lines.append(f"{len(found.faults)} faults in {time.monotonic() - started:.0f} s")
    sys.stdout.write("\n".join(lines) + "\n")
    if options.keep and found.inputs:
        options.keep.mkdir(parents=True, exist_ok=True)
        for content in found.inputs:
            name = hashlib.sha256(content).hexdigest()[:12]
            (options.keep / f"{name}.bin").write_bytes(content)
    return 1 if found.faults else 0
