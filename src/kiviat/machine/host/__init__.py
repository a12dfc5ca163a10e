"""The machine that Kiviat runs on, read from /proc and /sys."""
