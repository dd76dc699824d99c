"""A migration that fails halfway: it adds a column, and its next statement fails."""

import sqlalchemy as sa
from alembic import op

revision = "a6200"
down_revision = "a6100"


def upgrade():
    op.add_column("dbs", sa.Column("half_way", sa.String(16)))
    op.execute("UPDATE table_that_is_not_there SET id = 1")
