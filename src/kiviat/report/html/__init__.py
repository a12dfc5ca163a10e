"""The shell that all pages share, charts, and SVG."""
