"""The Python interface: `import kiviat` offers it, and commands call the same functions."""
