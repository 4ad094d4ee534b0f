"""Where the value of an expression may change as binned columns run through their values."""
