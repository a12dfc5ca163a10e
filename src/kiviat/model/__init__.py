"""Models of machines: fitted to measurements, checked and validated against what was published, changed.

Nothing here runs a simulation: that is asked for, and answered, in kiviat.cli.
"""
