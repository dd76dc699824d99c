package main

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// service is what the templates use.
type service struct {
	Name     string // widget-operator
	Kind     string // Widget
	Token    string // widget: the kind on the bus, and the name of the controller's package
	Plural   string // widgets
	Group    string // widget.flotilla.dev
	Team     string // widget
	Variable string // WIDGET_OPERATOR: the prefix of environment variables
	Metric   string // widget: the prefix of metrics
}

var (
	validName  = regexp.MustCompile(`^[a-z](?:[a-z0-9]|-[a-z0-9])*$`)
	validKind  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	validGroup = regexp.MustCompile(`^[a-z](?:[a-z0-9]|-[a-z0-9])*(?:\.[a-z](?:[a-z0-9]|-[a-z0-9])*)+$`)
	registered = regexp.MustCompile(`(?m)^\t\w+: +\{"[\w.]+", "\w+", "(\w+)"\}`)
	stored     = regexp.MustCompile(`"(\w+)"`)
)

const maxLength = 40 // Kubernetes names and labels made from it have at most 63 characters

// identities are the users of the bus that are not services.
var identities = []string{"bootstrap", "reader", "tool"}

// imported are the packages that the templates import next to the controller's, whose name follows from the kind.
var imported = []string{
	"appsv1", "cache", "client", "context", "contract", "ctrlmetrics", "fmt", "labels", "metrics", "names", "runtime", "service",
	"slices", "standalone", "v1alpha1",
}

// newService checks the input against the checkout.
func newService(root, name, kind, group string) (service, error) {
	base := strings.TrimSuffix(name, "-operator")
	s := service{
		Name: name, Kind: kind, Token: strings.ToLower(kind), Group: group, Team: base,
		Variable: strings.ToUpper(strings.ReplaceAll(name, "-", "_")), Metric: strings.ReplaceAll(base, "-", "_"),
	}
	s.Plural = plural(s.Token)
	if s.Group == "" {
		s.Group = base + ".flotilla.dev"
	}
	return s, errors.Join(checkName(root, name), checkKind(root, s), checkGroup(s.Group))
}

func checkName(root, name string) error {
	if name == "" {
		return errors.New("NAME is required, for example NAME=widget-operator KIND=Widget")
	}
	if !validName.MatchString(name) || len(name) > maxLength {
		return fmt.Errorf("NAME %q must be at most %d lower-case letters, digits and single dashes, and begin with a letter", name, maxLength)
	}
	if slices.Contains(identities, name) {
		return fmt.Errorf("NAME %q is taken: it is a user of the bus", name)
	}
	for _, path := range []string{"services/" + name, "deploy/charts/" + name, "deploy/charts/" + name + "-crds", "deploy/nats/" + name + ".conf"} {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			return fmt.Errorf("NAME %q is taken: %s exists", name, path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("check NAME %q: %w", name, err)
		}
	}
	return nil
}

func checkKind(root string, s service) error {
	if s.Kind == "" {
		return errors.New("KIND is required, for example KIND=Widget")
	}
	if !validKind.MatchString(s.Kind) || len(s.Kind) > maxLength {
		return fmt.Errorf("KIND %q must be at most %d letters and digits, and begin with a capital", s.Kind, maxLength)
	}
	if token.IsKeyword(s.Token) || slices.Contains(imported, s.Token) || s.Kind == "Kind" {
		return fmt.Errorf("KIND %q cannot name a Go package: %q is a keyword, or a package that the service imports", s.Kind, s.Token)
	}
	kinds, err := kinds(root)
	if err != nil {
		return err
	}
	for _, existing := range kinds {
		if strings.EqualFold(existing, s.Kind) {
			return fmt.Errorf("KIND %q exists: libs/contract lists it", s.Kind)
		}
	}
	return nil
}

func checkGroup(group string) error {
	if !validGroup.MatchString(group) || len(group) > maxLength+len(".flotilla.dev") {
		return fmt.Errorf("GROUP %q must be a DNS name with a dot", group)
	}
	return nil
}

// kinds returns the kinds of the contract's registry.
func kinds(root string) ([]string, error) {
	var out []string
	for file, row := range map[string]*regexp.Regexp{
		"libs/contract/kinds.go": registered, "libs/contract/zz_generated_michelangelo.go": stored,
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("read the kinds: %w", err)
		}
		found := row.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			return nil, fmt.Errorf("read the kinds: no kind found in %s", file)
		}
		for _, match := range found {
			out = append(out, match[1])
		}
	}
	return out, nil
}

// plural returns the plural of a kind in lower case, by the rules of Kubernetes.
func plural(word string) string {
	last := word
	if len(word) > 1 {
		last = word[len(word)-1:]
	}
	switch {
	case last == "s" || last == "x" || strings.HasSuffix(word, "ch") || strings.HasSuffix(word, "sh"):
		return word + "es"
	case last == "y" && len(word) > 1 && !strings.ContainsAny(word[len(word)-2:len(word)-1], "aeiou"):
		return word[:len(word)-1] + "ies"
	}
	return word + "s"
}
