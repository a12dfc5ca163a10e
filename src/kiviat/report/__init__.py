"""Tables, figures and the HTML page: no arithmetic beyond formatting."""

from kiviat.report.run.page import render

__all__ = ["render"]
