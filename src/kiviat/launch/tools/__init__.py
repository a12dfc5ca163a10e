"""The profiler and the recorder, which users' commands preload."""
