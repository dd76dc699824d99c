package platform

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tool is the identity of a program outside the cluster, and watched the namespace that it may read.
const (
	tool    = "watcher"
	watched = "team-a"
)

// identities of the bus; see deploy/nats.
var identities = []string{
	"superset-operator", "engine-operator", "ingester", "status-aggregator", "bootstrap", "reader", tool,
}

// passwords of the platform. They protect nothing but what is on this machine, but they are used as real ones are.
type passwords struct {
	Bus   map[string]string `json:"bus"` // by identity
	MySQL string            `json:"mysql"`
}

// passwords reads those of an earlier install, or makes some.
func (c Config) passwords() (passwords, error) {
	var p passwords
	data, err := os.ReadFile(c.Passwords)
	if err == nil {
		return p, json.Unmarshal(data, &p)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("read the passwords of the platform: %w", err)
	}
	p = passwords{Bus: map[string]string{}, MySQL: rand.Text()}
	for _, name := range identities {
		p.Bus[name] = rand.Text()
	}
	if data, err = json.Marshal(p); err != nil {
		return p, fmt.Errorf("write the passwords of the platform: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.Passwords), 0o700); err != nil {
		return p, fmt.Errorf("write the passwords of the platform: %w", err)
	}
	return p, os.WriteFile(c.Passwords, data, 0o600)
}

// variables by which the configuration of NATS names the passwords. They are quoted, since it takes a value that
// begins with digits for a number.
func (p passwords) variables() map[string]string {
	variables := map[string]string{}
	for user, password := range p.Bus {
		name := strings.ToUpper(strings.ReplaceAll(user, "-", "_"))
		if user == tool {
			name = "EXTERNAL"
		}
		variables[name+"_PASSWORD"] = `"` + password + `"`
	}
	return variables
}

// sum changes with the contents.
func sum(config map[string]string) string {
	s := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(config)) {
		s.Write([]byte(name + "\x00" + config[name] + "\x00"))
	}
	return hex.EncodeToString(s.Sum(nil))[:12]
}
