"""The address of a server's database, read as PostgreSQL's own library reads it.

Who reads it otherwise takes a piece of the password for a host or a name, and shows it. Source: PostgreSQL's manual,
34.1.1.2 (connection URIs), and ``conninfo_uri_parse_options`` in its ``fe-connect.c``.
"""

import os
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from dpsql.errors import EngineError

_PARTS = re.compile(r"(?P<hosts>[^/?]*)(?:/(?P<name>[^?]*))?(?:\?(?P<options>.*))?", re.DOTALL)
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]*))?")
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")


@dataclass(frozen=True)
class ServerAddress:
    """Where a database is: scheme and host in lower case, the port's digits, its name. Public: it has no password.

    ``name`` is "" where it is not told; ``has_password``: whether the address holds a password.

    >>> ServerAddress.of("postgresql://ann:secret@db.example/clinic?sslmode=require")
    ServerAddress(scheme='postgresql', host='db.example', port='5432', name='clinic', user='ann', has_password=True)
    >>> ServerAddress.of("postgresql:///clinic?host=/run/pg").public
    'postgresql:///run/pg:5432/clinic'
    """

    scheme: str
    host: str
    port: str
    name: str
    user: str
    has_password: bool

    @classmethod
    def of(cls, address: str) -> "ServerAddress":
        """EngineError, which quotes nothing of it, where its parts cannot be told apart."""
        scheme, _, rest = address.partition("://")
        until_path = rest.partition("/")[0]
        user, password = "", ""
        if "@" in until_path:
            credentials, _, rest = rest.partition("@")
            user, _, password = credentials.partition(":")
        parts = _PARTS.fullmatch(rest)
        hosts = [_HOST.fullmatch(host) for host in ("" if parts is None else parts["hosts"]).split(",")]
        options = dict(parse_qsl("" if parts is None else parts["options"] or "", keep_blank_values=True))
        told = [(m[1].strip("[]"), m[2] or "") for m in hosts if m is not None]
        host = options.get("host") or unquote(_listed([h for h, _ in told])) or options.get("hostaddr")
        host = host or os.environ.get("PGHOST") or "localhost"
        port = options.get("port") or _listed([p for _, p in told]) or os.environ.get("PGPORT") or "5432"
        user = options.get("user") or unquote(user) or os.environ.get("PGUSER", "")
        path = "" if parts is None else unquote(parts["name"] or "")
        name = options.get("dbname") or path
        if len(told) < len(hosts) or "@" in f"{host}{port}{path}" or not f"{host}{port}{name}{user}".isprintable():
            raise EngineError(
                "the address of the database cannot be read",
                hint="keep the password in PGPASSWORD or ~/.pgpass; write @ / : ? in it as %40 %2F %3A %3F",
            )
        secret = bool(password) or any(options.get(key) for key in _SECRETS)
        return cls(scheme.lower(), host if "/" in host else host.lower(), port, name, user, secret)

    @property
    def public(self) -> str:
        """The same without user, password and options: one address for one database."""
        name = self.name or os.environ.get("PGDATABASE") or self.user
        return f"postgresql://{self.host}:{self.port}/{name}"


def _listed(values: list[str]) -> str:
    """Of several all, in order; "" where none is told."""
    return ",".join(values) if any(values) else ""
