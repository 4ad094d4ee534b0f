"""The script ``dpsql`` and ``python -m dpsql``: the command line, and Ctrl-C before its first line and after its last.

The command line is imported in here, which takes a part of a second.
"""

import signal
import sys


def main() -> None:
    """Run the command line; leaves by SystemExit."""
    try:
        from dpsql.interface.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is written: from here on it ends the process in silence


if __name__ == "__main__":
    main()
