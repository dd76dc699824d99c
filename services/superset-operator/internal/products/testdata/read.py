"""Prints each stored secret as the product reads it, as one line of JSON; "?" where the key is another one."""

import json

from superset.app import create_app

app = create_app()
found = {}
with app.app_context():
    from superset.databases.ssh_tunnel.models import SSHTunnel
    from superset.extensions import db
    from superset.models.core import Database, DatabaseUserOAuth2Tokens

    for model, columns in (
        (Database, ("password", "encrypted_extra", "server_cert")),
        (SSHTunnel, ("username", "password", "private_key", "private_key_password")),
        (DatabaseUserOAuth2Tokens, ("access_token", "refresh_token")),
    ):
        for column in columns:
            try:
                rows = db.session.query(model.id, getattr(model, column)).order_by(model.id).all()
                found[f"{model.__tablename__}.{column}"] = [value for _, value in rows]
            except Exception:
                found[f"{model.__tablename__}.{column}"] = "?"
print(json.dumps(found, sort_keys=True))
