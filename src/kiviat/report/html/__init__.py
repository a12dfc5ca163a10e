"""The shell that all pages share, figures for report.js, and SVG."""
