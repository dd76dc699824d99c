"""The tables of 6.0."""

import sqlalchemy as sa
from alembic import op

revision = "a6000"
down_revision = None


def upgrade():
    op.create_table(
        "dbs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("database_name", sa.String(250), nullable=False, unique=True),
        sa.Column("password", sa.LargeBinary),
        sa.Column("encrypted_extra", sa.LargeBinary),
    )
    op.create_table(
        "ssh_tunnels",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("password", sa.LargeBinary),
    )
    op.create_table(
        "database_user_oauth2_tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("access_token", sa.LargeBinary),
    )
    op.create_table(
        "ab_user",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("first_name", sa.String(64), nullable=False),
        sa.Column("last_name", sa.String(64), nullable=False),
        sa.Column("username", sa.String(64), nullable=False, unique=True),
        sa.Column("password", sa.String(256)),
        sa.Column("email", sa.String(320), nullable=False, unique=True),
    )
    op.create_table(
        "ab_role",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
    )
    op.create_table(
        "report_execution_log",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("scheduled_at", sa.String(32), nullable=False),
        sa.Column("worker", sa.String(255), nullable=False),
    )
    op.create_table(
        "stub_switches",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String(255), nullable=False),
    )
