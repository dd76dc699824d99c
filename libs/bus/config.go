package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus/internal/nkey"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Config configures the connection to the bus.
type Config struct {
	// URL is one NATS URL or several separated by commas.
	URL string
	// Name is the client's name, for example "superset-operator"; it must be a subject
	// token. Replies arrive under _INBOX_<name>, so that no other client can read them.
	Name string
	// CredsFile is a NATS credentials file (JWT and key); it is read again on every reconnect.
	CredsFile string
	// NKeyFile holds the seed of a user's NKey; it is read again on every reconnect, and
	// may then hold another user's. It excludes CredsFile.
	NKeyFile string
	TLS      TLS
	Log      logr.Logger
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// TLS names PEM files, read again on every reconnect. All empty means that the
// URL's scheme decides. There is no way to skip verification.
type TLS struct {
	CAFile, CertFile, KeyFile string
}

// Settings of a connection. The client's defaults stop reconnecting after two minutes of
// outage, detect a half-open connection only after minutes, and send messages that were
// published during an outage long after their publisher got an error.
const (
	dialTimeout     = 2 * time.Second
	reconnectWait   = time.Second
	reconnectJitter = 500 * time.Millisecond
	pingInterval    = 10 * time.Second
	maxPingsOut     = 2
	unlimited       = -1
	noBuffer        = -1
)

// complete sets the defaults and rejects an invalid configuration.
func (cfg *Config) complete() error {
	if cfg.URL == "" {
		return errors.New("bus URL is required")
	}
	if _, err := contract.EncodeToken(cfg.Name); err != nil {
		return fmt.Errorf("encode NATS client name: %w", err)
	}
	if err := cfg.Check(); err != nil {
		return err
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Log.GetSink() == nil {
		cfg.Log = logr.Discard()
	}
	return nil
}

// options translates the configuration for the client.
func (c *Conn) options() ([]nats.Option, error) {
	token, err := contract.EncodeToken(c.cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("encode NATS client name: %w", err)
	}
	opts := []nats.Option{
		nats.Name(c.cfg.Name),
		nats.CustomInboxPrefix("_INBOX_" + token),
		nats.Timeout(dialTimeout),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // credentials may be rotated while we try
		nats.MaxReconnects(unlimited),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.ReconnectBufSize(noBuffer),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsOut),
		nats.DrainTimeout(drainTimeout),
		nats.ConnectHandler(c.handleConnected),
		nats.ReconnectHandler(func(nc *nats.Conn) { c.metrics.Reconnects.Inc(); c.handleConnected(nc) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { c.handleDisconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.log.V(1).Info("Failed to connect to NATS", "cause", text(err)) }),
		nats.LameDuckModeHandler(func(*nats.Conn) { c.log.Info("NATS server is shutting down") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.asyncError(err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	credentials, err := c.credentials()
	return append(opts, credentials...), err
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

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
		c.keyDialer = nkey.NewDialer(dialTimeout, func() (string, error) {
			key, err := publicKey(c.cfg.NKeyFile)
			if err != nil {
				return "", &FileError{FileNKey, err}
			}
			return key, nil
		})
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
