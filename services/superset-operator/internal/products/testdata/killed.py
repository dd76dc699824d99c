"""Runs a program many times, each time in a process of its own that ends by SIGKILL at the step it is told.

Usage: killed.py PROGRAM ARGS...

Reads the number of a step from each line of standard input, and answers with a line on file descriptor 3: "killed at STEP",
or "ended with CODE" after the last step. The steps are what the program does with the database inside of its function
change(), before and after each statement, and the opening of its report, which is its last argument.
"""

import importlib
import os
import runpy
import signal
import sys

program, *args = sys.argv[1:]


def preload():
    """Imports what the product does, but not the product, so that the processes share it: it takes the longest."""
    read, write = os.pipe()
    if os.fork() == 0:
        from superset.app import create_app

        create_app()
        os.write(write, "\n".join(sys.modules).encode())
        os._exit(0)
    os.close(write)
    with open(read) as names:
        modules = names.read().split("\n")
    os.wait()
    for name in modules:
        if name.partition(".")[0] not in ("superset", "superset_config", "__main__"):
            try:
                importlib.import_module(name)
            except ImportError:
                pass


class Steps:
    """Counts the steps, and kills the process at one."""

    def __init__(self, last, answers):
        self.count, self.last, self.answers = 0, last, answers

    def inside(self):
        frame = sys._getframe(2)
        while frame:
            if frame.f_code.co_name == "change" and frame.f_code.co_filename == program:
                return True
            frame = frame.f_back
        return False

    def reach(self, step):
        self.count += 1
        if self.count == self.last:
            os.write(self.answers, f"killed at {self.count} {step}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self):
        from sqlalchemy import event
        from sqlalchemy.engine import Engine
        from sqlalchemy.engine.default import DefaultDialect

        def listen(name, label):
            def reached(*values):
                if self.inside():
                    self.reach(label(*values))

            event.listen(Engine, name, reached)

        def statement(text):
            words = text.split()
            table = words[words.index("FROM") + 1] if "FROM" in words else words[1]
            return f"{words[0]} {table}" + (" FOR UPDATE" if "FOR UPDATE" in text else "")

        listen("begin", lambda connection: "begin")
        listen("before_cursor_execute", lambda connection, cursor, text, *_: "before " + statement(text))
        listen("after_cursor_execute", lambda connection, cursor, text, *_: "after " + statement(text))
        listen("commit", lambda connection: "before COMMIT")
        commit = DefaultDialect.do_commit

        def committed(dialect, connection):
            commit(dialect, connection)
            if self.inside():
                self.reach("after COMMIT")

        DefaultDialect.do_commit = committed

        def opened(name, values):
            if name == "open" and values[0] == args[-1]:
                self.reach("report")

        sys.addaudithook(opened)


def run(last):
    """Runs the program in this process, which is a forked one."""
    Steps(last, 3).install()
    os.close(0)
    sys.argv = [program, *args]
    code = 0
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    os.write(3, f"ended with {code or 0}\n".encode())
    os._exit(0)


preload()
os.write(3, b"ready\n")
for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        run(int(line))
    os.waitpid(child, 0)
