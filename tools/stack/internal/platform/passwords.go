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
	"regexp"
	"slices"
	"strings"
)

// tool is the identity of a program outside the cluster; watched is the namespace that it may read.
const (
	tool    = "watcher"
	watched = "team-a"
)

// user matches the name of a user in the configuration of the bus.
var user = regexp.MustCompile(`(?m)^ *user: (\S+)$`)

// identities returns the users of the bus in deploy/nats.
func (c Config) identities() ([]string, error) {
	config, err := c.busConfig()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range slices.Sorted(maps.Keys(config)) {
		for _, match := range user.FindAllStringSubmatch(config[file], -1) {
			names = append(names, match[1])
		}
	}
	return names, nil
}

// passwords are the passwords of the platform. They protect only this machine, but are used like those in production.
type passwords struct {
	Bus   map[string]string `json:"bus"` // by identity
	MySQL string            `json:"mysql"`
}

// passwords returns the passwords of an earlier install, and creates the missing ones.
func (c Config) passwords() (passwords, error) {
	p := passwords{Bus: map[string]string{}}
	identities, err := c.identities()
	if err != nil {
		return p, err
	}
	before, err := os.ReadFile(c.Passwords)
	switch {
	case errors.Is(err, os.ErrNotExist):
		p.MySQL = rand.Text()
	case err != nil:
		return p, fmt.Errorf("read the passwords of the platform: %w", err)
	default:
		if err := json.Unmarshal(before, &p); err != nil {
			return p, fmt.Errorf("read the passwords of the platform: %w", err)
		}
	}
	for _, name := range identities {
		if p.Bus[name] == "" {
			p.Bus[name] = rand.Text()
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("write the passwords of the platform: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.Passwords), 0o700); err != nil {
		return p, fmt.Errorf("write the passwords of the platform: %w", err)
	}
	return p, os.WriteFile(c.Passwords, data, 0o600)
}

// variables returns the environment variables with the passwords for the configuration of NATS. The values are quoted,
// since NATS parses a value that begins with digits as a number.
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

// sum returns a hash of the contents.
func sum(config map[string]string) string {
	s := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(config)) {
		s.Write([]byte(name + "\x00" + config[name] + "\x00"))
	}
	return hex.EncodeToString(s.Sum(nil))[:12]
}
