"""Set-up from a fresh clone: virtual environment, Java, and the services built from Go modules.

Goals: standard library only (it runs under the system's Python, before any environment exists); safe to run
twice or twice at once; under a second when nothing is left to do; every failure is one line and exit code 1.
Non-goals: starting services (bench.infra) and choosing dependency versions (pyproject.toml, tidb/go.mod).
"""
