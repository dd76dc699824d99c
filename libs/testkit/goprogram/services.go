package goprogram

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Services lists the services of a checkout, in the order of its modules.txt.
func Services(root string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(root, "modules.txt"))
	if err != nil {
		return nil, fmt.Errorf("list the services: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && !strings.HasPrefix(fields[0], "#") && fields[1] == "service" {
			names = append(names, filepath.Base(fields[0]))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("list the services: %s/modules.txt has none", root)
	}
	return names, nil
}

// MustServices is [Services] for a variable of a test package. It panics on an error.
func MustServices(root string) []string {
	names, err := Services(root)
	if err != nil {
		panic(err) //nolint:forbidigo // a package variable has no caller that could handle the error
	}
	return names
}
