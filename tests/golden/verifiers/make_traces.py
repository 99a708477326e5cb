"""Write the episodes of an evaluation with verifiers' own types and writer, offline.

    python tests/golden/verifiers/make_traces.py      # pip install verifiers==0.4.0

The rollouts, which need a model, are made up. One of them ended in an error, and one episode has no
trace at all.
"""

import json
from importlib.metadata import version
from pathlib import Path

from verifiers.v1.configs.agent import WireAgentConfig
from verifiers.v1.episode import EnvInfo, Episode
from verifiers.v1.graph import MessageNode
from verifiers.v1.task import WireTaskData
from verifiers.v1.trace import AgentInfo, Trace, TraceTask
from verifiers.v1.types import AssistantMessage, UserMessage
from verifiers.v1.utils.trace_store import TRACES_FILE, write_episode

HERE = Path(__file__).parent
EXAMPLES = [("Who wrote Emma?", "Jane Austen"), ("Capital of Italy?", "Rome"), ("2 + 2?", "4")]
ANSWERS = [["Jane Austen", "It is Jane Austen"], ["Milan", None], ["4", "5"]]


def trace_of(task, text, answer):
    agent = AgentInfo(config=WireAgentConfig.model_validate({"model": "gpt-none"}))
    trace = Trace(task=task, agent=agent)
    trace.nodes = [MessageNode(message=UserMessage(content=task.data.prompt), timestamp=0.0)]
    if text is None:
        trace.record_error(TimeoutError("the model timed out"))
        trace.rewards = {"exact": None, "contains": None}
        return trace
    reply = AssistantMessage(content=text)
    trace.nodes.append(MessageNode(parent=0, sampled=True, message=reply, timestamp=1.0))
    trace.record_reward("exact", float(text == answer))
    trace.record_reward("contains", 1.0 if answer in text else 0.25, weight=0.5)
    trace.record_metric("brevity", 1 / len(text.split()))
    trace.record_metric("num_turns", 1)
    trace.ok = True
    trace.stop("agent_completed")
    return trace


if __name__ == "__main__":
    folder = HERE / "traces"
    (folder / TRACES_FILE).unlink(missing_ok=True)
    scores = {name: [] for name in ("reward", "exact", "contains", "brevity")}
    for n, (question, answer) in enumerate(EXAMPLES):
        for name in scores.values():
            name.append([])
        data = WireTaskData(idx=n, prompt=question, answer=answer)
        task = TraceTask(type="QATask", data=data)
        for text in ANSWERS[n]:
            trace = trace_of(task, text, answer)
            episode = Episode(env=EnvInfo(id="toy"), task=task, traces=[trace], ok=trace.ok)
            write_episode(folder, episode)
            if trace.ok:
                scores["reward"][n].append(trace.reward)
                scores["exact"][n].append(trace.rewards["exact"].score)
                scores["contains"][n].append(trace.rewards["contains"].score)
                scores["brevity"][n].append(trace.metrics["brevity"])
    write_episode(folder, Episode(env=EnvInfo(id="toy"), task=task, traces=[]))
    expected = {"tool": "verifiers", "version": version("verifiers"), "scores": scores}
    text = json.dumps(expected, indent=1)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")
