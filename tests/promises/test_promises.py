"""Every call returns what was recorded, but for what changed.toml names; see README.md."""

import promises
import pytest


def differences(subject: str, name: str) -> tuple[promises.Difference, ...]:
    try:
        return promises.differences(subject, name)
    except promises.SharedDataMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(("subject", "name"), promises.names())
def test_a_promise_is_kept(subject: str, name: str) -> None:
    found = promises.unexplained(differences(subject, name))
    if found:
        pytest.fail(f"{len(found)} differences\n{promises.as_table(found)}", pytrace=False)


@pytest.mark.parametrize("change", promises.changes(), ids=lambda c: f"{c.call}:{c.field}")
def test_an_intended_change_still_differs(change: promises.Change) -> None:
    concerned = (call for call in promises.names() if change.concerns(".".join(call)))
    found = (one for call in concerned for one in differences(*call))
    assert any(change.covers(one) for one in found), "nothing differs: take the entry out"


@pytest.mark.parametrize("subject", promises.subjects())
def test_nothing_is_recorded_for_which_there_is_no_call(subject: str) -> None:
    assert set(promises.record(subject)) <= set(promises.calls(subject))
