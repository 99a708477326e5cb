"""The description of a metric as JSON, for files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, replace
from typing import Any

from rageval_report.errors import DataError, RagevalError
from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.metric import Catalogue, Metric

# The function that computes a metric is code, and a file is data: a reader must not load what a
# file names. The file says whether there was one; it comes from the catalogue again.
_CODE, _HAS_CODE = "compute", "is_computed"
_FIELDS = {field.name: field for field in fields(Metric) if field.name != _CODE}


def metric_fields(metric: Metric) -> dict[str, Any]:
    """The fields of a metric as JSON, without the function that computes it.

    Examples
    --------
    >>> metric_fields(Metric("stars", bounds=(1, 5)))["bounds"]
    [1.0, 5.0]
    """
    plain = {name: plain_value(getattr(metric, name)) for name in _FIELDS}
    return {**plain, _HAS_CODE: metric.compute is not None}


def metric_from_fields(name: str, document: object, catalogue: Catalogue) -> Metric:
    """The metric that `metric_fields` described; fields that are not known are ignored.

    Parameters
    ----------
    name : str
        The name of the metric.
    document : mapping
        Its fields. Those that are absent are taken from the catalogue, else they have the values
        that a metric has by default.
    catalogue : Catalogue
        The metrics that are known.

    Raises
    ------
    DataError
        If a field has a value that a metric cannot have.

    Examples
    --------
    >>> metric_from_fields("stars", {"bounds": [1, 5], "colour": "gold"}, Catalogue()).bounds
    (1.0, 5.0)
    """
    if not isinstance(document, Mapping):
        raise DataError(f"metric {name!r} must be an object; got {document!r:.60}")
    values: dict[str, Any] = {
        key: _field_value(name, field, document[key])
        for key, field in _FIELDS.items()
        if key in document and key != "name"
    }
    known = catalogue.search(name) or Metric(name)
    if values.get("known_as", known.known_as) != known.known_as:
        known = Metric(name)
    if document.get(_HAS_CODE) is False:
        values[_CODE] = None
    try:
        return replace(known, **values)
    except DataError:
        raise
    except RagevalError as exc:  # a group or a kind that this version does not know
        raise DataError(str(exc)) from exc


def _field_value(metric: str, field: Field[Any], value: Any) -> Any:
    """The value of a field, which must have the type of its default."""
    if field.name == "bounds":
        if not isinstance(value, list | None):
            raise DataError(f"bounds of the metric {metric!r} must be a list; got {value!r:.60}")
        return None if value is None else tuple(value)
    if isinstance(field.default, tuple) and isinstance(value, list):
        value = tuple(value)
    if field.default is not None and type(value) is not type(field.default):
        raise DataError(f"{field.name} of the metric {metric!r} cannot be {value!r:.60}")
    return value
