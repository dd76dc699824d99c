package app

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fileKeys maps the keys of the configuration file to flags. Files of Michelangelo's
// controllermgr are accepted unchanged: other stanzas are ignored, and three keys of
// controllermgr have no effect, as in controllermgr.
//
// Source: reference section 4.3.
var fileKeys = map[string]map[string]string{
	"metadataStorage": {
		"enableMetadataStorage":      "enable-metadata-storage",
		"deletionDelay":              "",
		"enableResourceVersionCache": "",
	},
	"mysql": {
		"enabled": "", "host": "mysql-host", "port": "mysql-port", "user": "mysql-user", "password": "mysql-password",
		"passwordFile": "mysql-password-file", "database": "mysql-database", "tls": "mysql-tls", "tlsCAFile": "mysql-tls-ca-file",
		"maxOpenConns": "mysql-max-open-conns", "maxIdleConns": "mysql-max-idle-conns", "connMaxLifetime": "mysql-conn-max-lifetime",
	},
	"ingester": {
		"concurrentReconciles": "concurrent-reconciles", "concurrentReconcilesMap": "concurrent-reconciles-map",
		"requeuePeriod": "requeue-period", "requeuePeriodMap": "requeue-period-map", "evictImmutableKinds": "evict-immutable-kinds",
	},
}

// load fills the settings that neither the command line nor the environment sets from a file.
func (o *Options) load(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		if where, ok := errors.AsType[*fs.PathError](err); ok {
			return fmt.Errorf("%s: %w", path, where.Err)
		}
		return err
	}
	var stanzas map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(interpolate(string(raw), os.LookupEnv)), &stanzas); err != nil {
		return fmt.Errorf("parse YAML of %s: %w", path, err)
	}
	for _, stanza := range slices.Sorted(maps.Keys(fileKeys)) {
		node := stanzas[stanza]
		var content map[string]yaml.Node
		if node.Decode(&content) != nil { // its error has values, which may be passwords
			return fmt.Errorf("%s: %s must be a map without duplicate keys", path, stanza)
		}
		for _, key := range slices.Sorted(maps.Keys(content)) {
			flag, known := fileKeys[stanza][key]
			if !known {
				return fmt.Errorf("%s: unknown key %s.%s, want one of %s", path, stanza, key,
					strings.Join(slices.Sorted(maps.Keys(fileKeys[stanza])), ", "))
			}
			if flag == "" {
				continue
			}
			value := content[key]
			if err := o.fill(flag, &value); err != nil {
				return fmt.Errorf("%s: %s.%s has an invalid value", path, stanza, key) // the value may be a password
			}
		}
	}
	return nil
}

// fill sets a flag that neither the command line nor the environment sets.
func (o *Options) fill(name string, node *yaml.Node) error {
	f := o.flags.Lookup(name)
	value, err := text(node)
	if err != nil || f.Changed || value == "" {
		return err
	}
	var enabled bool
	if f.Value.Type() == "bool" && node.Decode(&enabled) == nil { // on, off, yes and no too, as in controllermgr
		value = strconv.FormatBool(enabled)
	}
	return f.Value.Set(value)
}

// text formats a value for a flag: a map as key=value,key=value.
func text(node *yaml.Node) (string, error) {
	var content map[string]yaml.Node
	if node.Decode(&content) != nil || content == nil {
		return scalar(node)
	}
	pairs := make([]string, 0, len(content))
	for _, key := range slices.Sorted(maps.Keys(content)) {
		value := content[key]
		s, err := scalar(&value)
		if err != nil {
			return "", err
		}
		pairs = append(pairs, key+"="+s)
	}
	return strings.Join(pairs, ","), nil
}

// scalar returns a scalar as it is written, since YAML reads a password like 0123 as a number. Null is empty.
func scalar(node *yaml.Node) (string, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind != yaml.ScalarNode:
		return "", errors.New("must be a scalar")
	case node.ShortTag() == "!!null":
		return "", nil
	}
	return node.Value, nil
}

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}`)

// interpolate replaces ${NAME} and ${NAME:default} by the environment's value.
func interpolate(content string, lookup func(string) (string, bool)) string {
	return reference.ReplaceAllStringFunc(content, func(found string) string {
		parts := reference.FindStringSubmatch(found)
		if value, ok := lookup(parts[1]); ok && value != "" {
			return value
		}
		return parts[2]
	})
}
