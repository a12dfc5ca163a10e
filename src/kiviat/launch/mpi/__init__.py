"""MPI implementations: finding them, building with them, and starting launches."""
