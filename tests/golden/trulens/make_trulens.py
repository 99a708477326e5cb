"""Write TruLens's frames of made-up records, and what its database reports.

    python tests/golden/trulens/make_trulens.py records      # pip install trulens-core==2.16.0
    python tests/golden/trulens/make_trulens.py feedback

``records`` puts spans into TruLens's database and writes its frame of records and feedback: two
versions of an app, a metric of which less is better, one whose judge failed on a record, one that
was not called on a record. ``feedback`` does the same with results of the older kind, and writes
the frame of feedback results.
"""

import datetime
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
KIND = sys.argv[1] if len(sys.argv) > 1 else "records"
os.environ["TRULENS_OTEL_TRACING"] = "1" if KIND == "records" else "0"

from trulens.core.database.sqlalchemy import SQLAlchemyDB  # noqa: E402
from trulens.core.schema import base as base_schema  # noqa: E402
from trulens.core.schema import feedback as feedback_schema  # noqa: E402
from trulens.core.schema import record as record_schema  # noqa: E402
from trulens.core.schema.event import Event, EventRecordType  # noqa: E402
from trulens.otel.semconv.trace import ResourceAttributes, SpanAttributes  # noqa: E402

START = datetime.datetime(2026, 1, 1, 12, 0, 0)
QUESTIONS = ["Capital of Italy?", "Größe von Köln?", 'Who wrote "Emma"?']
VERSIONS = ["1.1", "1.10"]
# A score, None where the judge failed, "-" where it was not called.
SCORES = {
    "1.1": {"Groundedness": [1.0, 0.5, 0.0], "Harm": [0.0, 0.25, None], "Tone": [1.0, "-", "-"]},
    "1.10": {"Groundedness": [1.0, None, 0.75], "Harm": [0.5, 0.0, 0.0], "Tone": [0.5, 0.5, 0.5]},
}
GREATER_IS_BETTER = {"Groundedness": True, "Harm": False, "Tone": True}


def database():
    found = SQLAlchemyDB.from_db_url("sqlite:///:memory:")
    found.migrate_database()
    return found


def expected():
    return {
        one: {
            metric: dict(
                zip(QUESTIONS, [None if score == "-" else score for score in given], strict=True)
            )
            for metric, given in SCORES[one].items()
        }
        for one in VERSIONS
    }


# -- spans


def span(number, app_version, record_id, attributes):
    app = {
        ResourceAttributes.APP_NAME: "made-up",
        ResourceAttributes.APP_VERSION: app_version,
        ResourceAttributes.APP_ID: f"app_{app_version}",
    }
    return Event(
        event_id=f"{record_id}-{number}",
        record={"name": "made", "kind": 1, "parent_span_id": "", "status": "STATUS_CODE_UNSET"},
        record_attributes={SpanAttributes.RECORD_ID: record_id, **app, **attributes},
        record_type=EventRecordType.SPAN,
        resource_attributes=app,
        start_timestamp=START,
        timestamp=START + datetime.timedelta(milliseconds=250),
        trace={"trace_id": record_id, "parent_id": "", "span_id": str(number)},
    )


def spans(app_version, number):
    record_id = f"record-{app_version}-{number}"
    root = {
        SpanAttributes.SPAN_TYPE: SpanAttributes.SpanType.RECORD_ROOT.value,
        SpanAttributes.INPUT_ID: str(number),
        SpanAttributes.RECORD_ROOT.INPUT: QUESTIONS[number],
        SpanAttributes.RECORD_ROOT.OUTPUT: f"an answer of {app_version}",
    }
    yield span(0, app_version, record_id, root)
    for place, (metric, given) in enumerate(SCORES[app_version].items(), 1):
        score = given[number]
        if score == "-":
            continue
        eval_root = {
            SpanAttributes.SPAN_TYPE: SpanAttributes.SpanType.EVAL_ROOT.value,
            SpanAttributes.EVAL_ROOT.METRIC_NAME: metric,
            SpanAttributes.EVAL_ROOT.HIGHER_IS_BETTER: GREATER_IS_BETTER[metric],
            SpanAttributes.COST.COST: 0.001,
        }
        call = {
            SpanAttributes.SPAN_TYPE: SpanAttributes.SpanType.EVAL.value,
            SpanAttributes.EVAL.METRIC_NAME: metric,
            SpanAttributes.EVAL.EXPLANATION: f'{metric} isn\'t "perfect" on {number}',
        }
        if score is not None:
            eval_root[SpanAttributes.EVAL_ROOT.SCORE] = score
            call[SpanAttributes.EVAL.SCORE] = score
        yield span(2 * place, app_version, record_id, eval_root)
        yield span(2 * place + 1, app_version, record_id, call)


def make_records():
    db = database()
    every = [one for app in VERSIONS for number in range(3) for one in spans(app, number)]
    db.insert_events(every)
    frame, _ = db.get_records_and_feedback()
    frame.to_csv(HERE / "records.csv", index=False)
    frame.to_json(HERE / "records.json", orient="records", date_format="iso", indent=1)


# -- results of the older kind


def make_feedback():
    db = database()
    with db.session.begin() as session:
        for app_version in VERSIONS:
            told = {
                "app_name": "made-up",
                "app_version": app_version,
                "app_id": f"app_{app_version}",
                "root_class": {"name": "Made", "module": {"module_name": "made"}},
                "app": {},
            }
            session.add(
                db.orm.AppDefinition(
                    app_id=told["app_id"],
                    app_name="made-up",
                    app_version=app_version,
                    app_json=json.dumps(told),
                )
            )
        for metric, direction in GREATER_IS_BETTER.items():
            told = {"name": metric, "higher_is_better": direction}
            session.add(
                db.orm.FeedbackDefinition(
                    feedback_definition_id=f"definition_{metric}",
                    feedback_json=json.dumps(told),
                    run_location=None,
                )
            )
    for app_version in VERSIONS:
        for number in range(3):
            insert_record(db, app_version, number)
    frame = db.get_feedback()
    frame.to_csv(HERE / "feedback.csv", index=False)


def insert_record(db, app_version, number):
    record = record_schema.Record(
        record_id=f"record-{app_version}-{number}",
        app_id=f"app_{app_version}",
        main_input=QUESTIONS[number],
        main_output=f"an answer of {app_version}",
        calls=[],
        cost=base_schema.Cost(),
        perf=base_schema.Perf(
            start_time=START, end_time=START + datetime.timedelta(milliseconds=250)
        ),
    )
    db.insert_record(record)
    for metric, given in SCORES[app_version].items():
        db.insert_feedback(result_of(record, metric, given[number], number))


def result_of(record, metric, score, number):
    status = {"-": "SKIPPED", None: "FAILED"}.get(score, "DONE")
    is_done = status == "DONE"
    call = feedback_schema.FeedbackCall(
        args={"question": QUESTIONS[number]},
        ret=score if is_done else 0.0,
        meta={"reason": f'{metric} isn\'t "perfect" on {number}'},
    )
    return feedback_schema.FeedbackResult(
        feedback_result_id=f"result-{record.record_id}-{metric}",
        record_id=record.record_id,
        feedback_definition_id=f"definition_{metric}",
        last_ts=START,
        name=metric,
        status=feedback_schema.FeedbackResultStatus[status],
        result=score if is_done else None,
        calls=[call] if is_done else [],
        error="no answer of the judge" if score is None else None,
    )


if __name__ == "__main__":
    {"records": make_records, "feedback": make_feedback}[KIND]()
    told = {
        "tool": "trulens-core",
        "version": version("trulens-core"),
        "command": "python tests/golden/trulens/make_trulens.py",
        "values": expected(),
    }
    text = json.dumps(told, indent=1, ensure_ascii=False)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
