package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/flotilla-dev/flotilla/libs/testkit/authority"
)

//go:embed files
var files embed.FS

// renderTemplate executes one of the template files with the values of the stack.
func renderTemplate(name string, v values) ([]byte, error) {
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

// validity is the validity of all certificates. It is longer than a stack typically runs.
const validity = 2 * 365 * 24 * time.Hour

// writeCredentials creates a CA and all certificates, unless an earlier start has. It writes the administrator's
// kubeconfig last: if it exists, the others exist too.
func (n *Node) writeCredentials() error {
	if _, err := os.Stat(n.kubeconfig); err == nil {
		return nil
	}
	pairs, err := Issue(n.dir("pki"), n.identities())
	if err != nil {
		return err
	}
	for _, name := range clients {
		if err := n.writeKubeconfig(n.conf(name+".kubeconfig"), name, pairs); err != nil {
			return err
		}
	}
	return n.writeKubeconfig(n.kubeconfig, "admin", pairs)
}

// Issue creates a CA and a certificate for each subject, and writes them into a directory under their names, the CA as
// ca.
func Issue(dir string, subjects map[string]authority.Subject) (map[string]authority.Pair, error) {
	now := time.Now()
	signer, err := authority.New("flotilla-node", now.Add(-time.Hour), now.Add(validity))
	if err != nil {
		return nil, err
	}
	pairs := map[string]authority.Pair{"ca": signer.Pair}
	for name, subject := range subjects {
		if pairs[name], err = signer.Issue(subject); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("write the certificates: %w", err)
	}
	for name, pair := range pairs {
		if err := pair.Write(dir, name); err != nil {
			return nil, fmt.Errorf("write the certificate of %s: %w", name, err)
		}
	}
	return pairs, nil
}

func (n *Node) writeKubeconfig(file, user string, pairs map[string]authority.Pair) error {
	const name = "flotilla"
	config := api.NewConfig()
	config.CurrentContext = name
	config.Clusters[name] = &api.Cluster{Server: n.server(), CertificateAuthorityData: pairs["ca"].Cert}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: pairs[user].Cert, ClientKeyData: pairs[user].Key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user}
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return nil
}
