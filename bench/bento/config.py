"""Bento's configurations: the YAML files beside this one, with the run's values filled in.

The files use Bento's own `${NAME}`, so that they run by hand too. We fill them in ourselves because the
values hold passwords: an environment shows in `docker inspect`, a private file does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from bench.infra.endpoint import NatsEndpoint, TidbEndpoint, bracketed
from bench.template import fill


def render(file: str, values: Mapping[str, str]) -> str:
    return fill(Path(__file__).parent / file, values, _quoted)


def _quoted(value: str) -> str:
    """For the inside of double quotes in YAML; the dollar too, or Bento would fill in what follows it."""
    return json.dumps(value)[1:-1].replace("$", "\\u0024")


def nats_url(endpoint: NatsEndpoint) -> str:
    """With its credentials: Bento has no other place for a user and a password."""
    scheme, _, rest = endpoint.url.partition("://")
    if not endpoint.user:
        return endpoint.url
    return f"{scheme}://{quote(endpoint.user, safe='')}:{quote(endpoint.password, safe='')}@{rest}"


def tidb_dsn(endpoint: TidbEndpoint) -> str:
    """In the Go driver's spelling; without interpolateParams every batch would be prepared first."""
    address = f"tcp({bracketed(endpoint.host)}:{endpoint.port})"
    tls = "&tls=true" if endpoint.tls else ""
    return f"{endpoint.user}:{endpoint.password}@{address}/{endpoint.database}?interpolateParams=true{tls}"
