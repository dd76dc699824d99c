package database_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// settings of a test database, by parts.
func settings(t *testing.T, dsn string) database.Settings {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := net.DefaultResolver.LookupPort(t.Context(), "tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	return database.Settings{Host: host, Port: number, User: cfg.User, Password: cfg.Passwd, Database: cfg.DBName}
}

// ping opens a new connection with the settings.
func ping(t *testing.T, s database.Settings) error {
	t.Helper()
	connector, err := s.Connector()
	if err != nil {
		t.Fatal(err)
	}
	db := database.OpenConnector(connector, s.Pool)
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	return database.Ping(t.Context(), db)
}

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil { // the server runs as another user and has to read it
		t.Fatal(err)
	}
	return path
}

func TestPasswordFileIsReadPerConnection(t *testing.T) {
	dsn := mysqltest.DSN(t)
	db := dbtest.Open(t, dsn)
	s := settings(t, dsn)
	user := "u" + s.Database[len(s.Database)-8:]
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Error(err)
		}
	}
	exec("CREATE USER '" + user + "'@'%' IDENTIFIED BY 'it''s @first:/?'")
	t.Cleanup(func() { exec("DROP USER '" + user + "'@'%'") })
	exec("GRANT ALL ON `" + s.Database + "`.* TO '" + user + "'@'%'")
	s.User, s.Password = user, ""
	s.PasswordFile = write(t, filepath.Join(t.TempDir(), "password"), []byte("it's @first:/?\n"))
	connector, err := s.Connector()
	if err != nil {
		t.Fatal(err)
	}
	pool := database.OpenConnector(connector, database.Pool{MaxIdle: -1}) // each conversation has its own connection
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := database.Ping(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	exec("ALTER USER '" + user + "'@'%' IDENTIFIED BY 'second'")
	write(t, s.PasswordFile, []byte("second"))
	if err := database.Ping(t.Context(), pool); err != nil {
		t.Errorf("after the password was exchanged: %v", err)
	}
}

// TestTLSVerifiesServerCertificate starts a MySQL server with a certificate for 127.0.0.1.
func TestTLSVerifiesServerCertificate(t *testing.T) {
	server := mysqltest.PrivateOf(t, mysqltest.MySQL)
	dsn := server.DSN()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the server runs as another user
		t.Fatal(err)
	}
	certificate, key := certify(t)
	ca := write(t, filepath.Join(dir, "cert.pem"), certificate)
	db := dbtest.Open(t, dsn)
	for _, statement := range []string{
		"SET GLOBAL ssl_ca = '" + ca + "'", "SET GLOBAL ssl_cert = '" + ca + "'",
		"SET GLOBAL ssl_key = '" + write(t, filepath.Join(dir, "key.pem"), key) + "'", "ALTER INSTANCE RELOAD TLS",
		"SET GLOBAL require_secure_transport = ON",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	good := settings(t, dsn)
	plain := good
	good.CAFile = ca
	if err := ping(t, good); err != nil {
		t.Errorf("with the CA: %v", err)
	}
	if err := ping(t, plain); err == nil {
		t.Error("without TLS: the server requires it, and was reached")
	}
	unknown := plain
	unknown.TLS = true
	if err := ping(t, unknown); err == nil {
		t.Error("an untrusted CA was accepted")
	}
	wrong := good
	wrong.ServerName = "db.example.org"
	if err := ping(t, wrong); err == nil {
		t.Error("a certificate of another name was accepted")
	}
}

// certify creates a self-signed certificate for 127.0.0.1.
func certify(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	notBefore := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: notBefore, NotAfter: notBefore.AddDate(100, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// The servers must not read two unselective indexes completely to intersect them.
func TestIndexesAreNotIntersected(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			db, err := database.Open(mysqltest.DSNOf(t, vendor))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			var settings string
			if err := db.QueryRowContext(t.Context(), "SELECT @@optimizer_switch").Scan(&settings); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(settings, "index_merge_intersection=off") {
				t.Errorf("optimizer_switch is %s", settings)
			}
		})
	}
}
