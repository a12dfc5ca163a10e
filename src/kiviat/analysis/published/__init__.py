"""Published claims compared with results."""
