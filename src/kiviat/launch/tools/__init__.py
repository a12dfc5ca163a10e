"""The profiler and the recorder, preloaded into a user's command."""
