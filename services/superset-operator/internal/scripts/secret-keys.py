"""Checks and changes the key of the secrets that Superset stores.

Usage: secret-keys.py check|rotate REPORT

"check" reads every stored secret and fails unless the current SECRET_KEY decrypts it, or PREVIOUS_SECRET_KEY does where
that is set and a rotation follows (SUPERSET_OPERATOR__ROTATE). It writes nothing. It reads no secret of a database that a
later task creates (SUPERSET_OPERATOR__CREATE_DATABASE) or replaces (SUPERSET_OPERATOR__CLONES). "rotate" encrypts with
SECRET_KEY what only PREVIOUS_SECRET_KEY decrypts, in one transaction, and reads everything back before it commits and
again afterwards.

Superset's own command, re-encrypt-secrets, looks for encrypted columns in metadata that holds none: it changes nothing
and succeeds. So the columns are taken from all models of the product, and it is a failure to find too few.

What was found is written to REPORT as one line of JSON. A value never appears in what is printed.
"""

import copy
import json
import os
import sys

# Without these the models were not loaded, whatever else was found.
REQUIRED = ("database_user_oauth2_tokens", "dbs", "ssh_tunnels")


class Refused(Exception):
    """Says what is wrong and what to do about it, in one line."""


def encrypted_columns():
    """Returns the encrypted columns of all tables that the product declares."""
    from flask_appbuilder import Model
    from sqlalchemy_utils.types.encrypted.encrypted_type import StringEncryptedType
    from superset.extensions import db
    from superset.utils.encrypt import EncryptedFieldFactory

    tables = {}
    for metadata in (Model.metadata, db.metadata):
        for table in metadata.tables.values():
            found = []
            for column in table.columns:
                if isinstance(column.type, StringEncryptedType):
                    found.append(column)
                elif EncryptedFieldFactory.created_by_enc_field_factory(column.type):
                    raise Refused(
                        f"{table.name}.{column.name} is encrypted by an adapter of its own"
                        " (SQLALCHEMY_ENCRYPTED_FIELD_TYPE_ADAPTER): rotate with spec.lifecycle.rotate.command"
                    )
            if found:
                tables[table.name] = (table, found)
    missing = [name for name in REQUIRED if name not in tables]
    if missing:
        raise Refused(f"the image declares no encrypted column in {', '.join(missing)}: is it Superset 6.0 or newer?")
    return [tables[name] for name in sorted(tables)]


def with_key(kind, key):
    """Returns a copy of a column's type that has another key."""
    other = copy.copy(kind)
    other.engine = copy.copy(kind.engine)
    other._key = key
    return other


def decrypt(kind, dialect, value):
    """Returns whether a value can be decrypted, and its text."""
    try:
        return True, kind.process_result_value(value, dialect)
    except Exception:  # each engine has its own way to say that the key is another one
        return False, None


def plausible(text):
    """Is false for what the wrong key makes of a value, if by chance it makes anything of it."""
    return all(c.isprintable() or c in "\r\n\t" for c in str(text))


class Column:
    """An encrypted column: how its values are read, with the current and the previous key."""

    def __init__(self, column, dialect, key, previous):
        self.column, self.dialect = column, dialect
        self.current = with_key(column.type, key)
        self.previous = with_key(column.type, previous) if previous else None
        self.name = f"{column.table.name}.{column.name}"

    def stored(self):
        """Is the column as it is stored, not decrypted."""
        import sqlalchemy as sa

        return sa.type_coerce(self.column, self.raw()).label(self.column.name)

    def raw(self):
        return self.column.type.load_dialect_impl(self.dialect)

    def look(self, value):
        """Returns "current", "previous" or "neither", and the text."""
        good, text = decrypt(self.current, self.dialect, value)
        old, was = decrypt(self.previous, self.dialect, value) if self.previous else (False, None)
        if good and old and text != was:
            # About one wrong key in a million gives some text.
            if plausible(text) == plausible(was):
                raise Refused(f"a value of {self.name} can be decrypted with both keys: store it again, then retry")
            good = plausible(text)
        if good:
            return "current", text
        return ("previous", was) if old else ("neither", None)


def as_bytes(value):
    return value.tobytes() if isinstance(value, memoryview) else value


class Keys:
    """All stored secrets."""

    def __init__(self, app, rotate):
        from superset.extensions import db

        self.engine, self.rotate = db.engine, rotate
        key, previous = app.config["SECRET_KEY"], app.config.get("PREVIOUS_SECRET_KEY")
        if rotate and not previous:
            raise Refused("PREVIOUS_SECRET_KEY is empty: set spec.previousSecretKeyFrom to the key that was used before")
        self.tables = [
            (table, [Column(c, self.engine.dialect, key, previous if rotate else None) for c in columns])
            for table, columns in encrypted_columns()
        ]

    def rows(self, connection, table, columns, lock=False):
        """Yields the primary key and the stored values of each row that holds any."""
        import sqlalchemy as sa

        identity = list(table.primary_key.columns)
        query = sa.select(*identity, *(c.stored() for c in columns)).order_by(*identity)
        for row in connection.execute(query.with_for_update() if lock else query).all():
            values = [as_bytes(v) for v in row[len(identity):]]
            yield list(zip(identity, row)), [(c, v) for c, v in zip(columns, values) if v]

    def present(self, connection):
        """Returns the tables that are there, with the columns that are: before a migration some are not."""
        import sqlalchemy as sa

        inspector = sa.inspect(connection)
        names = set(inspector.get_table_names())
        for table, columns in self.tables:
            if table.name in names:
                there = {c["name"] for c in inspector.get_columns(table.name)}
                yield table, [c for c in columns if c.column.name in there]

    def check(self):
        """Fails unless each value can be decrypted with a key that will be there."""
        counts = {"columns": 0, "values": 0, "previousKey": 0}
        if os.environ.get("SUPERSET_OPERATOR__CLONES") == "true":
            return counts  # the clone replaces the rows
        bad = {}
        with self.engine.connect() as connection:
            for table, columns in self.present(connection):
                counts["columns"] += len(columns)
                for _, values in self.rows(connection, table, columns):
                    for column, value in values:
                        which, _text = column.look(value)
                        counts["values"] += 1
                        counts["previousKey"] += which == "previous"
                        if which == "neither":
                            bad[column.name] = bad.get(column.name, 0) + 1
            self.refuse(bad, counts["values"])
            if counts["previousKey"]:
                self.new_enough(connection)
        return counts

    def refuse(self, bad, total):
        if not bad:
            return
        where = ", ".join(f"{count} in {name}" for name, count in sorted(bad.items()))
        keys, remedy = "the secret key does not decrypt", (
            "put the previous key back, or set spec.previousSecretKeyFrom to it and spec.lifecycle.rotate"
        )
        if self.rotate:
            keys, remedy = "neither key decrypts", "correct spec.secretKeyFrom or spec.previousSecretKeyFrom"
        raise Refused(f"{keys} {sum(bad.values())} of {total} stored secrets ({where}): {remedy}")

    def new_enough(self, connection):
        """Migrations from before Superset 4.1 read stored secrets themselves, with the current key."""
        import sqlalchemy as sa

        inspector = sa.inspect(connection)
        if inspector.has_table("tables") and "catalog_perm" not in {c["name"] for c in inspector.get_columns("tables")}:
            raise Refused("the metastore is older than Superset 4.1: upgrade with the previous key first, then rotate")

    def change(self):
        """Encrypts anew what only the previous key decrypts: everything, or nothing."""
        import sqlalchemy as sa

        counts = {"columns": 0, "values": 0, "reencrypted": 0}
        texts, bad = {}, {}
        with self.engine.begin() as connection:
            for table, columns in self.tables:
                counts["columns"] += len(columns)
                for identity, values in self.rows(connection, table, columns, lock=True):
                    changed = {}
                    for column, value in values:
                        which, text = column.look(value)
                        counts["values"] += 1
                        if which == "neither":
                            bad[column.name] = bad.get(column.name, 0) + 1
                        if which == "previous":
                            changed[column] = column.current.process_bind_param(text, column.dialect)
                        texts[self.place(column, identity)] = text
                    if changed and not bad:
                        counts["reencrypted"] += len(changed)
                        connection.execute(
                            sa.update(table)
                            .where(*(c == v for c, v in identity))
                            .values({c.column.name: sa.bindparam(None, v, type_=c.raw()) for c, v in changed.items()})
                        )
            self.refuse(bad, counts["values"])
            self.read_back(connection, "nothing was changed", texts)
        with self.engine.connect() as connection:
            self.read_back(connection, "the change was committed: stop what still writes with the previous key, then retry")
        return counts

    @staticmethod
    def place(column, identity):
        return column.name, tuple(str(v) for _, v in identity)

    def read_back(self, connection, outcome, texts=None):
        """Fails unless the current key alone decrypts each value, to the text that it was where texts are given."""
        seen = 0
        for table, columns in self.tables:
            for identity, values in self.rows(connection, table, columns):
                for column, value in values:
                    good, text = decrypt(column.current, column.dialect, value)
                    seen += 1
                    if not good or texts is not None and texts.get(self.place(column, identity)) != text:
                        raise Refused(f"a value of {column.name} could not be read back with the new key; {outcome}")
        if texts is not None and seen != len(texts):
            raise Refused(f"{len(texts)} values were read and {seen} read back; {outcome}")


def database_to_create():
    """Reports whether a later task creates the database, without which the application may not even load."""
    if os.environ.get("SUPERSET_OPERATOR__CREATE_DATABASE") != "true":
        return False
    import superset.config
    from superset_preflight_servers import Metastore

    return Metastore(superset.config).is_absent()


def run(mode):
    if mode == "check" and database_to_create():
        return {"columns": 0, "values": 0, "previousKey": 0}
    from superset.app import create_app

    app = create_app()
    with app.app_context():
        if mode == "check":
            return Keys(app, os.environ.get("SUPERSET_OPERATOR__ROTATE") == "true").check()
        return Keys(app, True).change()


def main():
    mode, report = sys.argv[1:]
    try:
        counts = run(mode)
    except Refused as refused:
        sys.exit(f"{mode}: {refused}")
    line = json.dumps(counts)
    print(f"{mode}: {line}", flush=True)
    with open(report, "w", encoding="utf-8") as file:
        file.write(line)


if __name__ == "__main__":
    main()
