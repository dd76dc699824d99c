package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Settings holds the address and credentials of the database, either as one DSN or by parts.
type Settings struct {
	DSN string

	Host, User, Database string
	Port                 int
	// Password, or the file that contains it. The file is read again for each connection, so
	// the password may be rotated without a restart.
	Password, PasswordFile string

	// TLS encrypts connections and verifies the server's certificate. Any of the files below implies it.
	TLS bool
	// CAFile contains the CAs to trust instead of those of the system.
	CAFile string
	// CertFile and KeyFile are the client certificate. They are read again for each connection.
	CertFile, KeyFile string
	// ServerName is the name in the server's certificate; empty means the host.
	ServerName string

	Pool Pool
}

// Pool bounds the connections. Zero values mean the defaults.
type Pool struct {
	MaxOpen, MaxIdle int           // 25, 10
	MaxLifetime      time.Duration // 5 minutes
}

// Configured reports whether any setting names a database.
func (s Settings) Configured() bool {
	return s.DSN != "" || s.Host != "" || s.User != "" || s.Database != ""
}

const defaultPort = 3306

// Connector returns the connector for these settings. It does not connect. An error names the
// invalid setting and never contains a password.
func (s Settings) Connector() (driver.Connector, error) {
	cfg, err := s.base()
	if err != nil {
		return nil, err
	}
	if err := applyDefaults(cfg); err != nil {
		return nil, err
	}
	if err := s.addTLS(cfg); err != nil {
		return nil, err
	}
	if s.PasswordFile != "" {
		if _, err := readPassword(s.PasswordFile); err != nil {
			return nil, err
		}
		err := cfg.Apply(mysql.BeforeConnect(func(_ context.Context, fresh *mysql.Config) error {
			password, err := readPassword(s.PasswordFile)
			fresh.Passwd = password
			return err
		}))
		if err != nil {
			return nil, fmt.Errorf("apply MySQL settings: %w", err)
		}
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("apply MySQL settings: %w", err)
	}
	return connector, nil
}

func (s Settings) base() (*mysql.Config, error) {
	byParts := s.Host != "" || s.User != "" || s.Database != "" || s.Password != ""
	switch {
	case s.DSN != "" && byParts:
		return nil, errors.New("--mysql-dsn and --mysql-host, --mysql-user, --mysql-password or --mysql-database are mutually exclusive")
	case s.Password != "" && s.PasswordFile != "":
		return nil, errors.New("--mysql-password and --mysql-password-file are mutually exclusive")
	case s.DSN != "":
		cfg, err := parseDSN(s.DSN)
		if err != nil {
			return nil, fmt.Errorf("--mysql-dsn (FLOTILLA_MYSQL_DSN or MYSQL_DSN) %w", err)
		}
		return cfg, nil
	}
	for _, part := range []struct{ flag, value string }{
		{"--mysql-host", s.Host}, {"--mysql-user", s.User}, {"--mysql-database", s.Database},
	} {
		if part.value == "" {
			return nil, errors.New(part.flag + " is required with the other settings of MySQL")
		}
	}
	port := s.Port
	if port == 0 {
		port = defaultPort
	}
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("--mysql-port must be 1 to 65535, got %d", port)
	}
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(s.Host, strconv.Itoa(port))
	cfg.User, cfg.Passwd, cfg.DBName = s.User, s.Password, s.Database
	return cfg, nil
}

// addTLS encrypts connections if a setting requires it. Encryption without verification of the
// certificate is rejected.
func (s Settings) addTLS(cfg *mysql.Config) error {
	required := s.TLS || s.CAFile != "" || s.CertFile != "" || s.KeyFile != "" || s.ServerName != ""
	if err := checkTLS(cfg, required); err != nil {
		return fmt.Errorf("--mysql-dsn %w", err)
	}
	if !required {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.ServerName}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(cfg.Addr)
		if err != nil {
			return errors.New("--mysql-tls-server-name is required for a connection through a socket")
		}
		config.ServerName = host
	}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return fmt.Errorf("--mysql-tls-ca-file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("--mysql-tls-ca-file %s contains no certificate", s.CAFile)
		}
	}
	if (s.CertFile == "") != (s.KeyFile == "") {
		return errors.New("--mysql-tls-cert-file and --mysql-tls-key-file must be set together")
	}
	if s.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile); err != nil {
			return fmt.Errorf("--mysql-tls-cert-file: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
			return &pair, err
		}
	}
	cfg.TLS, cfg.TLSConfig = config, ""
	return nil
}

func readPassword(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--mysql-password-file: %w", err)
	}
	return strings.TrimRight(string(raw), "\r\n"), nil
}
