"""Methods of scans take parameters of the names and with the defaults that they have in memory."""

import inspect

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.evaluation.scan import EvaluationScan

# A scan lists the worst k queries and writes all of them to `path`; in memory k is the number of
# results of a retrieval.
OF_SCANS_ALONE = {
    *(("failures", "k"), ("failures", "path"), ("failures", "n_results")),
    *(("comparative_detailed_summary", "k"), ("comparative_detailed_summary", "path")),
    *(("detailed_report", "k"), ("detailed_report", "path")),
    *(("comparative_detailed_report", "k"), ("comparative_detailed_report", "path")),
}
# A comparison of scans takes the keywords of `compare`, and a picture those of its plot.
OPTIONS_OF_OTHERS = ("comparative_summary", "plot")
SHARED = sorted(
    name
    for name, method in vars(EvaluationScan).items()
    if inspect.isfunction(method)
    and not name.startswith("_")
    and name not in OPTIONS_OF_OTHERS
    and callable(getattr(RAGPipelineEvaluation, name, None))
)


def defaults_of(method):
    """The name and the default of each parameter, those of a `TypedDict` of keywords among them."""
    found = {}
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            keywords = parameter.annotation.removeprefix("Unpack[").removesuffix("]")
            found |= dict.fromkeys(method.__globals__[keywords].__annotations__)
        elif parameter.name not in ("self", "other", "others"):
            found[parameter.name] = parameter.default
    return found


def test_methods_are_shared():
    assert {"evaluation_report", "failures", "find_thresholds", "gate", "slices"} <= set(SHARED)


@pytest.mark.parametrize("name", SHARED)
def test_no_parameter_of_a_scan_has_another_name_or_default(name):
    of_scan = defaults_of(getattr(EvaluationScan, name))
    of_memory = defaults_of(getattr(RAGPipelineEvaluation, name))
    own = {parameter for method, parameter in OF_SCANS_ALONE if method == name}
    assert set(of_scan) - own <= set(of_memory)
    for parameter, default in of_scan.items():
        if parameter not in own and default is not None:
            assert default == of_memory[parameter], parameter
