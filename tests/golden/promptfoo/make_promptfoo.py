"""Write promptfoo's own outputs with promptfoo, offline; providers and the grader are functions.

python make_promptfoo.py node_modules/.bin/promptfoo, with node. Nothing is shared or cached.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = {
    "provider.js": """
const ANSWERS = { 'Who wrote Dune?': 'Frank Herbert', 'Where is Oslo?': '=in "Norway", north',
                  'When was Bach born?': '1685,\\nin March' };
module.exports = class {
  constructor(options) { this.config = options.config || {}; }
  id() { return 'fixed'; }
  async callApi(prompt, context) {
    const question = context.vars.question;
    if (this.config.fails === question) return { error: 'the server is down' };
    const output = ANSWERS[question].slice(0, this.config.length);
    return { output, tokenUsage: { prompt: 10, completion: 4, total: 14 }, cost: 0.0025 };
  }
};""",
    "grader.js": """
module.exports = class {
  id() { return 'grader'; }
  async callApi(prompt) {
    if (prompt.includes('1685')) return { output: 'I would rather not say' };
    return { output: JSON.stringify({ pass: true, score: 0.8, reason: 'well said' }) };
  }
};""",
    "promptfooconfig.yaml": """
description: golden
prompts: ["Answer briefly: {{question}}"]
providers:
  - { id: "file://provider.js", label: long, config: { length: 100, fails: "Where is Oslo?" } }
  - { id: "file://provider.js", label: short, config: { length: 5 } }
defaultTest:
  assert:
    - { type: icontains, value: "{{expected}}", metric: Match }
    - { type: javascript, value: "Math.min(1, output.length / 13)", metric: Length }
    - { type: llm-rubric, value: is well said, metric: Tone, provider: "file://grader.js" }
tests:
  - { description: author, vars: { question: "Who wrote Dune?", expected: Herbert } }
  - vars: { question: "Where is Oslo?", expected: Norway }
  - vars: { question: "When was Bach born?", expected: "1685" }
""",
}
OFF = ("DISABLE_TELEMETRY", "DISABLE_UPDATE", "DISABLE_REMOTE_GENERATION", "DISABLE_SHARING")


def run(promptfoo: str, folder: Path) -> str:
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    environment = os.environ | {f"PROMPTFOO_{name}": "1" for name in OFF}
    environment["PROMPTFOO_CONFIG_DIR"] = str(folder / "home")
    outputs = ["-o", "out.json", "out.jsonl", "out.csv"]
    command = [promptfoo, "eval", "--no-cache", "--no-write", "-j", "1", *outputs]
    subprocess.run(command, cwd=folder, env=environment, check=False, timeout=300)
    told = subprocess.run([promptfoo, "--version"], env=environment, capture_output=True, text=True)
    return told.stdout.split()[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        version = run(str(Path(sys.argv[1]).resolve()), Path(name))
        document = json.loads((Path(name) / "out.json").read_text(encoding="utf-8"))
        shutil.copy(Path(name) / "out.csv", HERE / "out.csv")
        shutil.copy(Path(name) / "out.jsonl", HERE / "out.jsonl")
    kept = {key: document[key] for key in ("evalId", "results")}
    (HERE / "out.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    parts = ("namedScores", "namedScoresCount", "testPassCount", "testFailCount", "testErrorCount")
    prompts = document["results"]["prompts"]
    expected = {
        "metrics": {
            one["provider"]: {key: one["metrics"][key] for key in parts} for one in prompts
        },
        "versions": {"promptfoo": version},
        "command": "python make_promptfoo.py node_modules/.bin/promptfoo",
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
