"""Models of machines: fitting to measurements, validation against published results, and changes.

Nothing here runs a simulation; kiviat.cli does.
"""
