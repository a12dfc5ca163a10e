"""A cluster on one machine: nodes are namespaces, links are veth pairs of a known rate.

`spec.parse_spec` → `cluster.Cluster.up` → `launching.launching`; `removal.clean_dead` removes what
kiviats that are dead left. docs/howto/emulated.md says what of it is true.
"""
