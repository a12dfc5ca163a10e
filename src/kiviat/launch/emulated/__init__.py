"""A cluster on one machine: nodes are namespaces, links are veth pairs of a known rate.

`spec.parse_spec` → `cluster.Cluster.up` → `launching.launching`; `removal.clean_dead` removes clusters of
killed kiviat processes. docs/howto/emulated.md states what is emulated correctly.
"""
