"""6.1 reads a column that 6.0 does not have."""

import sqlalchemy as sa
from alembic import op

revision = "a6100"
down_revision = "a6000"


def upgrade():
    op.add_column("dbs", sa.Column("configuration_method", sa.String(255), server_default="sqlalchemy_form"))
