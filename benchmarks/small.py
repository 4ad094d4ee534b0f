"""Few rows: 5,000 of Adult, 6 columns: ``python -m benchmarks.small [--queries 1000] [--epsilon 1] [--seeds 3]``."""

from collections.abc import Sequence

import click

from benchmarks.comparison import Setting, compare
from benchmarks.options import chosen_peers, command_text, peers_option, python_option


@click.command()
@click.option("--queries", default=1000)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=3)
@click.option("--slow-seeds", default=1, help="Seeds for peers that take minutes: AIM.")
@peers_option
@python_option
def main(queries: int, epsilon: str, seeds: int, slow_seeds: int, peer_names: str, pythons: Sequence[str]) -> None:
    command = command_text("small", epsilon=epsilon, queries=queries, seeds=seeds)
    compare(Setting("adult5000", queries, epsilon, seeds), chosen_peers(peer_names, pythons), command, slow_seeds)


if __name__ == "__main__":
    main()
