package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// File is one of the files that a [Config] names.
type File string

// Files of a [Config].
const (
	FileCreds File = "credentials"
	FileNKey  File = "NKey"
	FileCA    File = "authorities"
	FileCert  File = "certificate"
	FileKey   File = "certificate's key"
)

// FileError reports which file of a [Config] is unusable, and why. It never contains
// the content of the file.
type FileError struct {
	File File
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s of the bus: %v", e.File, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// Check reads the files that the configuration names. The error joins a [FileError] for
// each that cannot be used.
func (cfg *Config) Check() error {
	return errors.Join(cfg.checkCreds(), cfg.checkNKey(), cfg.checkCA(), cfg.checkCert())
}

func (cfg *Config) checkCreds() error {
	if cfg.CredsFile == "" {
		return nil
	}
	content, err := os.ReadFile(cfg.CredsFile)
	if err != nil {
		return &FileError{FileCreds, err}
	}
	pair, err := nkeys.ParseDecoratedUserNKey(content)
	if err != nil {
		return &FileError{FileCreds, fmt.Errorf("%s holds no user's credentials", cfg.CredsFile)}
	}
	pair.Wipe()
	return nil
}

func (cfg *Config) checkNKey() error {
	if cfg.NKeyFile == "" {
		return nil
	}
	if cfg.CredsFile != "" {
		return &FileError{FileNKey, errors.New("cannot be used together with credentials")}
	}
	if _, err := publicKey(cfg.NKeyFile); err != nil {
		return &FileError{FileNKey, err}
	}
	return nil
}

func (cfg *Config) checkCA() error {
	if cfg.TLS.CAFile == "" {
		return nil
	}
	content, err := os.ReadFile(cfg.TLS.CAFile)
	if err != nil {
		return &FileError{FileCA, err}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(content) {
		return &FileError{FileCA, fmt.Errorf("%s holds no PEM certificate", cfg.TLS.CAFile)}
	}
	return nil
}

func (cfg *Config) checkCert() error {
	cert, key := cfg.TLS.CertFile, cfg.TLS.KeyFile
	switch {
	case cert == "" && key == "":
		return nil
	case cert == "":
		return &FileError{FileCert, errors.New("is needed with its key")}
	case key == "":
		return &FileError{FileKey, errors.New("is needed with the certificate")}
	}
	if _, err := os.Stat(key); err != nil {
		return &FileError{FileKey, err}
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return &FileError{FileCert, err}
	}
	return nil
}

// publicKey returns the public key of the user whose seed a file holds.
func publicKey(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	pair, err := nkeys.ParseDecoratedUserNKey(content)
	if err != nil {
		return "", fmt.Errorf("%s holds no seed of a user", file)
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// keyDialer makes the client present the key that the file holds at the time of the
// connect. The client rereads only the seed, for the signature; the matching public key is
// fixed in its options, which other code cannot change. The client holds the lock on its
// options while it dials, so the dialer can change them.
type keyDialer struct {
	net.Dialer
	file string
	nc   atomic.Pointer[nats.Conn] // nil until the first dial is over, which had the key a moment ago
}

// Dial reads the key again, then calls [net.Dialer.Dial].
func (d *keyDialer) Dial(network, address string) (net.Conn, error) {
	key, err := publicKey(d.file)
	if err != nil {
		return nil, &FileError{FileNKey, err}
	}
	if nc := d.nc.Load(); nc != nil {
		nc.Opts.Nkey = key
	}
	return d.Dialer.Dial(network, address)
}

// credentials returns the client's options for its own identity and for the CAs that it
// trusts. All files are read again on every reconnect.
func (c *Conn) credentials() ([]nats.Option, error) {
	var opts []nats.Option
	if c.cfg.CredsFile != "" {
		opts = append(opts, nats.UserCredentials(c.cfg.CredsFile))
	}
	if c.cfg.NKeyFile != "" {
		option, err := nats.NkeyOptionFromSeed(c.cfg.NKeyFile)
		if err != nil {
			return nil, &FileError{FileNKey, err}
		}
		c.keyDialer = &keyDialer{Dialer: net.Dialer{Timeout: dialTimeout}, file: c.cfg.NKeyFile}
		opts = append(opts, option, nats.SetCustomDialer(c.keyDialer))
	}
	if c.cfg.TLS.CAFile != "" {
		opts = append(opts, nats.RootCAs(c.cfg.TLS.CAFile))
	}
	if c.cfg.TLS.CertFile != "" {
		opts = append(opts, nats.ClientCert(c.cfg.TLS.CertFile, c.cfg.TLS.KeyFile))
	}
	return opts, nil
}
