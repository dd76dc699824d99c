"""Re-encryption: every encrypted column, from the previous key to the current one, in one transaction."""

import sqlalchemy as sa
from sqlalchemy_utils import EncryptedType

from superset.metastore import secret_of


def encrypted_columns(tables):
    for table in tables.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, EncryptedType):
                yield table, column


def re_encrypt(store, previous_key):
    """Returns how many values changed and how many had the current key already. ValueError where neither key fits."""
    changed = kept = 0
    with store.engine.begin() as connection:
        for table, column in encrypted_columns(store.tables):
            before = EncryptedType(column.type.underlying_type, previous_key)
            raw = sa.select(table.c.id, table.c.database_name, sa.type_coerce(column, sa.LargeBinary).label("value"))
            for row in connection.execute(raw.with_for_update()).fetchall():
                if row.value is None:
                    continue
                if opens(column.type, row, connection.dialect) is not None:
                    kept += 1
                    continue
                clear = opens(before, row, connection.dialect)
                if clear is None:
                    raise ValueError(f"neither key opens {table.name}.{column.name} of row {row.id}")
                connection.execute(table.update().where(table.c.id == row.id).values({column.name: clear}))
                changed += 1
    return changed, kept


def opens(kind, row, dialect):
    """The clear text, None where the key is wrong. Every secret of ours names the database that it belongs to."""
    try:
        clear = kind.process_result_value(bytes(row.value), dialect)
    except ValueError:
        return None
    return clear if clear == secret_of(row.database_name) else None
