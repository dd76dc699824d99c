"""Runs a program, and restores the passwords of the table late in dbs after the program's first commit of change().

Usage: late.py PROGRAM ARGS...
"""

import runpy
import sys

from sqlalchemy.engine.default import DefaultDialect

program = sys.argv[1]
commit = DefaultDialect.do_commit


def changing():
    frame = sys._getframe(2)
    while frame and (frame.f_code.co_name, frame.f_code.co_filename) != ("change", program):
        frame = frame.f_back
    return frame is not None


def committed(dialect, connection):
    commit(dialect, connection)
    if changing():
        DefaultDialect.do_commit = commit
        connection.cursor().execute("UPDATE dbs SET password = (SELECT late.password FROM late WHERE late.id = dbs.id)")
        connection.commit()


DefaultDialect.do_commit = committed
sys.argv = sys.argv[1:]
runpy.run_path(program, run_name="__main__")
