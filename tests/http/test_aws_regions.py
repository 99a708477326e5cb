"""The region of Amazon Web Services, which is part of the address of a request."""

import pytest

from rageval_report.errors import DataError
from rageval_report.http import region_from_environment


def test_the_region_is_read_from_either_variable(monkeypatch):
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert region_from_environment() == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    assert region_from_environment() == "us-east-2"


@pytest.mark.parametrize("region", [None, "evil.example/", "us east", "ü-1"])
def test_a_region_that_is_missing_or_no_name_is_refused(monkeypatch, region):
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    if region is not None:
        monkeypatch.setenv("AWS_REGION", region)
    with pytest.raises(DataError, match=r"AWS_REGION.*us-east-1"):
        region_from_environment()
