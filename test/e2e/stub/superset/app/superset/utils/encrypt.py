"""The encryption of columns: only the type of SQLAlchemy-Utils."""


class EncryptedFieldFactory:
    @staticmethod
    def created_by_enc_field_factory(_field):
        return False
