"""Kiviat evaluates how balanced a parallel computer is."""

__version__ = "0.1.0"
