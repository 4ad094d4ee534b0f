"""What every test needs of the process it runs in."""

import signal


def pytest_configure() -> None:
    """A shell starts what it puts in the background with Ctrl-C ignored; tests of interrupts send themselves some."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
