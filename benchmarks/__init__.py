"""Compares kiviat's speed and accuracy with other tools: `make bench`. Not part of the tests."""
