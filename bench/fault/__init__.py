"""Faults as measurements: what is done to a run and when, what must hold, how long it takes to be well."""
