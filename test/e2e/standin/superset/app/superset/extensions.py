"""The database, as programs that run in the application's context name it."""

import sqlalchemy as sa


class Database:
    engine = None
    # The models are Flask-AppBuilder's: here is nothing, as in the real one.
    metadata = sa.MetaData()


db = Database()
