"""Real servers for tests, benchmarks and demos, each in a folder of its own, gone with the process that started them.

Free of pytest: its fixtures are in `tests/conftest.py`.
"""
