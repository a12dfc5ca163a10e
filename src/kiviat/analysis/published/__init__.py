"""Statements of papers, held against results."""
