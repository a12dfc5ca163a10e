"""Modelled machines: machine files, their networks, and their lowering to the simulator."""
