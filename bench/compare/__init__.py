"""Compares runs with runs: what changed, by how much, and whether that is more than noise.

Goals: two numbers decide, a statistical one (is it chance?) and a practical one (does it matter?); runs that
must not be compared are refused by name, never mixed; what could not be told is said. Non-goals: judging a
run by itself (gates.py does) and remembering runs (history.py does).
"""
