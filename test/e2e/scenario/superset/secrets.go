package superset

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// secretColumns selects every stored secret of the metastore, each with the connection that it belongs to.
const secretColumns = `SELECT database_name, convert_from(password, 'UTF8') FROM dbs
	UNION ALL SELECT database_name, convert_from(encrypted_extra, 'UTF8') FROM dbs`

// rows returns the secrets as the database has them.
func (w *shop) rows(ctx context.Context) ([]stored, error) {
	out, err := w.psql(ctx, "shop", secretColumns)
	if err != nil {
		return nil, err
	}
	return storedIn(out)
}

// stored is a secret of a connection, as a row has it.
type stored struct{ connection, encrypted string }

func storedIn(answer string) ([]stored, error) {
	var out []stored
	for line := range strings.Lines(answer) {
		connection, encrypted, ok := strings.Cut(strings.TrimSpace(line), "|")
		if !ok {
			return nil, fmt.Errorf("the row %q holds no secret", line)
		}
		out = append(out, stored{connection, encrypted})
	}
	if len(out) == 0 {
		return nil, errors.New("the metastore holds no secrets")
	}
	return out, nil
}

// onlyOpenedBy wants every secret to be readable with one key and not with the other.
func onlyOpenedBy(rows []stored, key, other string) error {
	var problems []error
	for _, row := range rows {
		want := "the password of " + row.connection
		open, err := decrypt(row.encrypted, key)
		otherwise, err2 := decrypt(row.encrypted, other)
		switch {
		case err != nil || err2 != nil:
			problems = append(problems, err, err2)
		case open != want:
			problems = append(problems, fmt.Errorf("the key makes %q of the secret of %s", open, row.connection))
		case otherwise == want:
			problems = append(problems, fmt.Errorf("the other key opens the secret of %s", row.connection))
		}
	}
	return errors.Join(problems...)
}

// decrypt reads what Superset writes into its encrypted columns: AES in CBC mode, with the hash of the SECRET_KEY as
// its key and the beginning of that as its first block, filled up with stars, as base64. With another key it is noise.
func decrypt(encrypted, secretKey string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil {
		return "", err
	}
	if len(data)%aes.BlockSize != 0 {
		return "", fmt.Errorf("%d bytes are not whole blocks", len(data))
	}
	key := sha256.Sum256([]byte(secretKey))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return "", err
	}
	cipher.NewCBCDecrypter(block, key[:aes.BlockSize]).CryptBlocks(data, data)
	return strings.TrimRight(string(data), "*"), nil
}
