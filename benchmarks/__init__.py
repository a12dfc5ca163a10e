"""Our speed and accuracy beside a peer's: `make bench`. Never part of the tests."""
