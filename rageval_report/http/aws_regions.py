"""Regions of Amazon Web Services."""

from __future__ import annotations

import os

from rageval_report.errors import DataError

_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def region_from_environment() -> str:
    """The region of Amazon Web Services that the environment names.

    Raises
    ------
    DataError
        If it names none.
    """
    region = next(filter(None, map(os.environ.get, _REGIONS)), None)
    if region is None:
        raise DataError(
            f"no region: set the environment variable {_REGIONS[0]} (or {_REGIONS[1]}), e.g. to "
            "us-east-1"
        )
    # The region is part of a host name, to which a key is sent.
    if not region.replace("-", "").isalnum() or not region.isascii():
        raise DataError(
            f"the environment variable {_REGIONS[0]} or {_REGIONS[1]} must be the name of a "
            f"region, e.g. us-east-1; got {region!r}"
        )
    return region
