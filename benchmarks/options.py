"""Options that the comparing commands share."""

from collections.abc import Sequence

import click

from benchmarks.comparison import HEADLINE, PEERS
from benchmarks.peers.external import External
from benchmarks.peers.peer import Peer


def chosen_peers(names: str, pythons: Sequence[str]) -> list[Peer]:
    """``names``: comma-separated, or "all"; the headline peer always takes part. ``pythons``: NAME=PATH each."""
    wanted = list(PEERS) if names == "all" else [n.strip() for n in names.split(",")]
    unknown = [n for n in wanted if n not in PEERS]
    if unknown:
        raise click.UsageError(f"no peer {unknown[0]}; there are {', '.join(PEERS)}")
    if HEADLINE not in wanted:
        wanted.append(HEADLINE)
    paths = dict(p.split("=", 1) for p in pythons if "=" in p)
    out: list[Peer] = []
    for name in wanted:
        peer = PEERS[name]
        out.append(peer.with_python(paths[name]) if isinstance(peer, External) and name in paths else peer)
    return out


peers_option = click.option("--peers", "peer_names", default="all", help="Comma-separated, or all.")
python_option = click.option(
    "--python", "pythons", multiple=True, help="NAME=PATH: the interpreter that has the peer smartnoise or aim."
)


def command_text(module: str, **options: object) -> str:
    """The command that made a result, for the result."""
    told = " ".join(f"--{k.replace('_', '-')} {v}" for k, v in options.items())
    return f"python -m benchmarks.{module} {told}".strip()
