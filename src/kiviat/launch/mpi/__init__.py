"""MPI implementations: finding, building with, and starting them."""
