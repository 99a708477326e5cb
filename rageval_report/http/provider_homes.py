"""Where a provider's server is, and which key is sent there."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rageval_report.errors import DataError
from rageval_report.http.addresses import check_address, redact_url
from rageval_report.http.keys import check_key_variable
from rageval_report.http.literal_keys import check_url_template


@dataclass(frozen=True)
class ProviderHome:
    """The address of a provider, and the environment variables that override it.

    Parameters
    ----------
    url : str
        The provider's own address.
    url_variables, key_variables : tuple of str
        The first of them that is set counts.
    """

    url: str
    url_variables: tuple[str, ...]
    key_variables: tuple[str, ...]

    def routed_url(self) -> str | None:
        """The address in the environment; None if no variable of it is set."""
        variable = _first_set(self.url_variables)
        return variable and os.environ[variable]

    def locate(self, base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
        """The address of the server, and the variable of the key that is sent there.

        A server that the caller names gets a key only if the caller names its variable too, so
        that the provider's key is sent to no other server.
        """
        routed = self.routed_url()
        base = base_url or routed or self.url
        if "?" in base or "#" in base:
            raise DataError(f"base_url must end before any '?' or '#'; use {redact_url(base)}")
        address = check_url_template(check_address(base), "base_url").rstrip("/")
        if api_key_env is not None:
            return address, check_key_variable(api_key_env)
        # A key must not go to a server that was named in code unless it was named with it.
        if base_url is not None:
            return address, None
        key = _first_set(self.key_variables)
        # An address from the environment may be a local server without a key; the provider itself
        # always wants one, and the error names its variable.
        return address, key or (None if routed else self.key_variables[-1])


def _first_set(variables: tuple[str, ...]) -> str | None:
    return next((name for name in variables if os.environ.get(name)), None)
