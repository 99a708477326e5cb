"""Write what SQuAD's official evaluator says of two systems' answers.

    python tests/golden/make_squad.py EVALUATE_V2 FOLDER_OF_SQUAD_V2_SAMPLE

EVALUATE_V2 is the path of evaluate-v2.0.py, which the authors of SQuAD 2.0 hand out. The published
figures, to three places, stand beside the sample.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def told_by(evaluator, folder, system):
    paths = folder / "dev-v2.0.sample.json", folder / f"predictions.{system}.json"
    done = subprocess.run(
        [sys.executable, str(evaluator), *map(str, paths)], capture_output=True, check=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    evaluator, folder = Path(sys.argv[1]), Path(sys.argv[2])
    told = {
        "tool": "evaluate-v2.0.py of SQuAD 2.0",
        "version": "sha256 " + hashlib.sha256(evaluator.read_bytes()).hexdigest(),
        "command": "python tests/golden/make_squad.py EVALUATE_V2 FOLDER_OF_SQUAD_V2_SAMPLE",
        "values": {system: told_by(evaluator, folder, system) for system in ("BERT", "nlnet")},
    }
    text = json.dumps(told, sort_keys=True, indent=0) + "\n"
    (HERE / "squad_evaluator.json").write_text(text, encoding="utf-8")
