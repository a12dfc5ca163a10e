"""Modelled machines: machine files, their networks, and their translation into simulator input."""
