"""The one way to the network: requests, their retries, and errors in plain words.

Everything that calls a server uses it: embeddings, judges, the runner. Needs the extra ``http``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.http.client import Client as Client
    from rageval_report.http.keys import Key as Key
    from rageval_report.http.keys import key_from_environment as key_from_environment
    from rageval_report.http.request_errors import RequestError as RequestError
    from rageval_report.http.responses import HttpResponse as HttpResponse
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)
