"""``python -m dpsql``: the command line."""

from dpsql.interface.cli import main

if __name__ == "__main__":
    main()
