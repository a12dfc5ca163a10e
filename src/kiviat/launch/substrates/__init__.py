"""Substrates, where ranks run: this machine, an allocation, an emulated cluster, a modelled machine."""
