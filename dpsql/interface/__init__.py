"""The doors of the house: each opens a session, asks it and shows what came back. Nothing in here sees a private value.

``dbapi`` is the Python module's face (PEP 249), ``cli`` the command line, ``shell`` the prompt, ``batch`` a file of
statements, ``demo`` the guided tour; ``render`` draws results for all of them.
"""
