"""The database object for programs that run in the context of the application."""

import sqlalchemy as sa


class Database:
    engine = None
    # Empty, as in Superset: the models belong to Flask-AppBuilder.
    metadata = sa.MetaData()


db = Database()
