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

// rows returns the encrypted secrets of the metastore.
func (w *shopScenario) rows(ctx context.Context) ([]stored, error) {
	out, err := w.psql(ctx, "shop", secretColumns)
	if err != nil {
		return nil, err
	}
	return parseSecrets(out)
}

// stored is the encrypted secret of a connection.
type stored struct{ connection, encrypted string }

func parseSecrets(output string) ([]stored, error) {
	var out []stored
	for line := range strings.Lines(output) {
		connection, encrypted, ok := strings.Cut(strings.TrimSpace(line), "|")
		if !ok {
			return nil, fmt.Errorf("row %q has no secret", line)
		}
		out = append(out, stored{connection, encrypted})
	}
	if len(out) == 0 {
		return nil, errors.New("the metastore has no secrets")
	}
	return out, nil
}

// decryptOnlyWith returns an error unless key decrypts every secret and other decrypts none.
func decryptOnlyWith(rows []stored, key, other string) error {
	var problems []error
	for _, row := range rows {
		want := "the password of " + row.connection
		plaintext, err := decrypt(row.encrypted, key)
		otherPlaintext, err2 := decrypt(row.encrypted, other)
		switch {
		case err != nil || err2 != nil:
			problems = append(problems, err, err2)
		case plaintext != want:
			problems = append(problems, fmt.Errorf("the key decrypts the secret of %[2]s to %[1]q", plaintext, row.connection))
		case otherPlaintext == want:
			problems = append(problems, fmt.Errorf("the other key decrypts the secret of %s", row.connection))
		}
	}
	return errors.Join(problems...)
}

// decrypt decrypts a value of Superset's encrypted columns: base64 of AES in CBC mode, padded with asterisks. The AES key is
// the SHA-256 hash of the SECRET_KEY, and the IV is its first block. With another key the result is random.
func decrypt(encrypted, secretKey string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil {
		return "", err
	}
	if len(data)%aes.BlockSize != 0 {
		return "", fmt.Errorf("%d bytes are not a multiple of the block size", len(data))
	}
	key := sha256.Sum256([]byte(secretKey))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return "", err
	}
	cipher.NewCBCDecrypter(block, key[:aes.BlockSize]).CryptBlocks(data, data)
	return strings.TrimRight(string(data), "*"), nil
}
