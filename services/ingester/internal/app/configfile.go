package app

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
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
	var stanzas map[string]any
	if err := yaml.Unmarshal([]byte(interpolate(string(raw), os.LookupEnv)), &stanzas); err != nil {
		return fmt.Errorf("parse YAML of %s: %w", path, err)
	}
	for _, stanza := range slices.Sorted(maps.Keys(fileKeys)) {
		content, ok := stanzas[stanza].(map[string]any)
		if stanzas[stanza] != nil && !ok {
			return fmt.Errorf("%s: %s is not a map", path, stanza)
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
			if err := o.fill(flag, text(content[key])); err != nil {
				return fmt.Errorf("%s: %s.%s has an invalid value", path, stanza, key) // the value may be a password
			}
		}
	}
	return nil
}

// fill sets a flag that neither the command line nor the environment sets.
func (o *Options) fill(name, value string) error {
	f := o.flags.Lookup(name)
	if f.Changed || value == "" {
		return nil
	}
	return f.Value.Set(value)
}

// text formats a value for a flag: maps as key=value,key=value.
func text(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	pairs := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, fmt.Sprintf("%s=%v", key, m[key]))
	}
	return strings.Join(pairs, ",")
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
