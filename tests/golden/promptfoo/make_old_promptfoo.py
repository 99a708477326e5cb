"""Write the CSV of an older promptfoo, offline, with node; providers are functions.

python make_old_promptfoo.py node_modules/.bin/promptfoo     # npm install promptfoo@0.43.1

A provider's error and an empty answer have a score of 0 in its outputs: no expected score.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = {
    "provider.js": """
const ANSWERS = { 'Who wrote Dune?': 'Frank Herbert', 'Where is Oslo?': 'in "Norway", (north)',
                  'When was Bach born?': '1685,\\nin March', 'Where is Bergen?': '' };
module.exports = class {
  constructor(options) { this.config = (options && options.config) || {}; }
  id() { return 'fixed'; }
  async callApi(prompt, context) {
    const question = context.vars.question;
    const fails = this.config.fails && question === 'When was Bach born?';
    return fails ? { error: 'the server is down' } : { output: ANSWERS[question] };
  }
};""",
    "short.js": """
const Fixed = require('./provider.js');
module.exports = class extends Fixed {
  constructor() { super({ config: { fails: true } }); }
  id() { return 'short'; }
};""",
    "promptfooconfig.yaml": """
prompts: ['Answer briefly: {{question}}']
providers: ['./provider.js', './short.js']
tests:
  - vars: { question: Who wrote Dune?, expected: Herbert }
    assert:
      - { type: contains, value: Herbert }
      - { type: javascript, value: '0.5', metric: 'Tone, kind' }
  - vars: { question: Where is Oslo?, expected: Norway }
    assert: [{ type: contains, value: Sweden }, { type: javascript, value: '0.51' }]
  - vars: { question: When was Bach born?, expected: '1685' }
    assert: [{ type: javascript, value: '1.51' }]
  - vars: { question: 'Where is Bergen?', expected: '' }
    assert: [{ type: equals, value: x }]
""",
}


def expected_of(results):
    providers = {}
    for row in results:
        failed = not row["success"] and row["score"] == 0
        providers.setdefault(row["provider"]["id"], {})[row["vars"]["question"]] = {
            "score": None if failed else row["score"],
            "passed": None if failed else row["success"],
            "named": row["namedScores"],
            "error": row.get("error") if failed else None,
        }
    return providers


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        command = [str(Path(sys.argv[1]).absolute()), "eval", "--no-cache", "--no-write"]
        command += ["-o", "out.csv", "-o", "out.json"]
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
        subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **quiet, "PROMPTFOO_CONFIG_DIR": folder},
            check=False,
        )
        (HERE / "old.csv").write_bytes(Path(folder, "out.csv").read_bytes())
        results = json.loads(Path(folder, "out.json").read_text(encoding="utf-8"))
    expected = {
        "tool": "promptfoo",
        "version": "0.43.1",
        "command": "python make_old_promptfoo.py node_modules/.bin/promptfoo",
        "providers": expected_of(results["results"]["results"]),
    }
    text = json.dumps(expected, indent=1)
    (HERE / "old_expected.json").write_text(text + "\n", encoding="utf-8")
