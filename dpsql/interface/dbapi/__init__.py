"""PEP 249: ``connect`` finds the files and opens a session, a connection holds it, cursors hand out its rows."""
