// Package envfile writes the environment file for shells that use the local stack.
package envfile

import (
	"fmt"
	"os"
	"strings"
)

// Vars are variables in the order in which they are written.
type Vars []Var

// Var is one variable.
type Var struct {
	Name, Value string
}

// Render returns the file for a POSIX shell. Sourcing it repeatedly prepends the directories to PATH only once.
func Render(vars Vars, path []string) string {
	var b strings.Builder
	b.WriteString("# The local stack. Use it with: source .local/env\n")
	for _, v := range vars {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, quote(v.Value))
	}
	for _, dir := range path {
		fmt.Fprintf(&b, "case \":$PATH:\" in *:%s:*) ;; *) export PATH=%s:\"$PATH\" ;; esac\n", quote(dir), quote(dir))
	}
	return b.String()
}

// Write writes the file, readable by its owner only, since it contains the password of the database.
func Write(file string, vars Vars, path []string) error {
	part := file + ".part"
	if err := os.WriteFile(part, []byte(Render(vars, path)), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(part, file)
}

// Name returns the variable name for a service and a suffix, such as SUPERSET_OPERATOR_METRICS.
func Name(service, suffix string) string {
	return strings.ToUpper(strings.ReplaceAll(service, "-", "_")) + "_" + suffix
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
