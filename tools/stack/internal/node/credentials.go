package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/pki"
)

//go:embed files
var files embed.FS

// fill reads one of the files and puts the stack's values into it.
func fill(name string, v values) ([]byte, error) {
	text, err := files.ReadFile(filepath.Join("files", name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("fill in %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// writeCredentials makes an authority and all certificates, unless an earlier start has. The administrator's come last:
// where they are, the others are, too.
func (n *Node) writeCredentials() error {
	if _, err := os.Stat(n.kubeconfig); err == nil {
		return nil
	}
	authority, err := pki.New(n.dir("pki"), time.Now())
	if err != nil {
		return err
	}
	for name, i := range n.identities() {
		if err := authority.Issue(name, pki.Subject{User: i.user, Groups: i.groups, Hosts: i.hosts}); err != nil {
			return err
		}
	}
	for _, name := range clients {
		if err := authority.Kubeconfig(n.conf(name+".kubeconfig"), n.server(), name); err != nil {
			return err
		}
	}
	return authority.Kubeconfig(n.kubeconfig, n.server(), "admin")
}
