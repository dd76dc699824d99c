// Package metadata is the stub of the metadata service of an instance. It has the command line, config.yaml and gRPC health
// of the service, and requires a real PostgreSQL. It stores the account there, to detect two instances on one database.
package metadata

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Config is the content of config.yaml. Unknown keys are rejected.
type Config struct {
	Account string `json:"default_account_id"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Storage struct {
		PostgreSQL struct {
			Host     string `json:"host"`
			Port     int    `json:"port"`
			Database string `json:"database"`
			Schema   string `json:"schema"`
		} `json:"postgresql"`
	} `json:"metadata_storage"`

	// The fields below exist only in the older variant, and are accepted but not used.
	ServerThreads  int            `json:"server_threads"`
	LogLevel       string         `json:"log_level"`
	ConnectTimeout int            `json:"connect_timeout"`
	KeepAlive      map[string]any `json:"keepalive"`
	Garbage        map[string]any `json:"garbage_collection"`
}

// Read reads and validates a configuration file.
func Read(path string) (Config, error) {
	var file struct {
		Lite Config `json:"pensieve_lite"`
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return Config{}, fmt.Errorf("read configuration %s: %w", path, err)
	}
	c, pg := file.Lite, file.Lite.Storage.PostgreSQL
	for name, missing := range map[string]bool{
		"default_account_id": c.Account == "", "host": c.Host == "", "port": c.Port == 0,
		"metadata_storage.postgresql.host": pg.Host == "", "metadata_storage.postgresql.port": pg.Port == 0,
		"metadata_storage.postgresql.database": pg.Database == "", "metadata_storage.postgresql.schema": pg.Schema == "",
	} {
		if missing {
			err = errors.Join(err, fmt.Errorf("configuration %s: pensieve_lite.%s is missing", path, name))
		}
	}
	return c, err
}

// Credentials reads the user and the password from the files that POSTGRES_USERNAME_FILE and POSTGRES_PASSWORD_FILE name.
func Credentials(environment func(string) string) (user, password string, err error) {
	read := func(variable string) string {
		text, problem := os.ReadFile(environment(variable))
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", variable, problem))
		}
		return strings.TrimRight(string(text), "\n")
	}
	return read("POSTGRES_USERNAME_FILE"), read("POSTGRES_PASSWORD_FILE"), err
}
