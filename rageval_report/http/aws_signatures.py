"""Signatures of Amazon Web Services, version 4. Needs the extra ``bedrock``."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import ModuleType

from rageval_report._registry import load
from rageval_report.errors import DataError
from rageval_report.http.keys import Key, key_from_environment
from rageval_report.http.responses import Headers

ACCESS_KEY_ID = "AWS_ACCESS_KEY_ID"
SECRET_ACCESS_KEY = "AWS_SECRET_ACCESS_KEY"  # noqa: S105
SESSION_TOKEN = "AWS_SESSION_TOKEN"  # noqa: S105
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_SECONDS = 10.0  # the signature of a megabyte takes milliseconds


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


def _import_auth() -> ModuleType:
    """The module awscrt.auth, which has no types; see `load`."""
    auth: ModuleType = load("awscrt.auth")
    return auth


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class AwsSigner:
    """Signs requests to a service of Amazon Web Services; the secret key itself is never sent.

    Parameters
    ----------
    service : str
        The name by which the service is signed, e.g. "bedrock".
    region : str
        The region, e.g. "us-east-1".
    access_key_id, secret_access_key : Key
        The pair of keys.
    session_token : Key, optional
        The token of temporary keys.
    clock : callable, optional
        Returns the time of a signature, which holds for some minutes.

    Raises
    ------
    MissingDependencyError
        If the package awscrt is not installed.

    References
    ----------
    .. [1] AWS Identity and Access Management, User Guide. Create a signed AWS API request.

    Examples
    --------
    >>> keys = Key("AKIDEXAMPLE", scheme=""), Key("secret-example", scheme="")
    >>> clock = lambda: datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    >>> signer = AwsSigner("service", "us-east-1", *keys, clock=clock)
    >>> headers = signer("POST", "https://example.com/ask", {}, b"{}")
    >>> headers["x-amz-date"], headers["authorization"].partition(",")[0]
    ('20150830T123600Z', 'AWS4-HMAC-SHA256 \
Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request')
    """

    service: str
    region: str
    access_key_id: Key
    secret_access_key: Key
    session_token: Key | None = None
    clock: Callable[[], datetime] = field(default=_now, repr=False)

    def __post_init__(self) -> None:
        _import_auth()  # a missing package is reported now, not at the first request

    @classmethod
    def from_environment(cls, service: str, region: str) -> AwsSigner:
        """A signer with the keys in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.

        Raises
        ------
        DataError
            If one of the first two is not set, or one of the three contains no usable key.
        """
        token = None
        if os.environ.get(SESSION_TOKEN):
            token = key_from_environment(SESSION_TOKEN, scheme="")
        return cls(
            service,
            region,
            key_from_environment(ACCESS_KEY_ID, scheme=""),
            key_from_environment(SECRET_ACCESS_KEY, scheme=""),
            token,
        )

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys, which no error, log or answer may repeat."""
        pair = (self.access_key_id, self.secret_access_key)
        return pair if self.session_token is None else (*pair, self.session_token)

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> Headers:
        """The headers that sign a request now.

        Parameters
        ----------
        method, url : str
            The method and the complete address of the request.
        headers : mapping of str to str
            The headers that are signed too, except the host's.
        content : bytes
            The body as it is sent.
        """
        # Host and path as the client sends them; loaded by name, as an estimate signs nothing.
        address = load("httpx2:URL")(url)
        sent = {"host": address.netloc.decode("ascii"), **headers}
        auth = _import_auth()
        request = auth.HttpRequest(
            method, address.raw_path.decode("ascii"), None, io.BytesIO(content)
        )
        request.headers.add_pairs(sent.items())
        token = None if self.session_token is None else self.session_token.text()
        config = auth.AwsSigningConfig(
            algorithm=auth.AwsSigningAlgorithm.V4,
            signature_type=auth.AwsSignatureType.HTTP_REQUEST_HEADERS,
            credentials_provider=auth.AwsCredentialsProvider.new_static(
                self.access_key_id.text(), self.secret_access_key.text(), token
            ),
            region=self.region,
            service=self.service,
            date=self.clock(),
            # Every service but S3 escapes the escaped path once more.
            use_double_uri_encode=True,
        )
        signed = auth.aws_sign_request(request, config).result(_SECONDS)
        return {name.lower(): value for name, value in signed.headers if name not in sent}
