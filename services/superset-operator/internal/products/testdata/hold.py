"""Locks the rows of a table until standard input ends. Usage: hold.py TABLE"""

import os
import sys

import sqlalchemy as sa

from superset.app import create_app

app = create_app()
with app.app_context():
    from superset.extensions import db

    with db.engine.begin() as connection:
        connection.execute(sa.text(f"SELECT id FROM {sys.argv[1]} FOR UPDATE")).all()
        os.write(3, b"held\n")
        sys.stdin.read()
