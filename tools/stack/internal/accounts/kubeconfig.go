// Package accounts writes the credentials of service accounts.
package accounts

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns an administrator's kubeconfig with the administrator replaced by a service account. Clients read
// the token from its file and reload it, so a new token does not require a restart.
func Kubeconfig(admin []byte, namespace, tokenFile string) ([]byte, error) {
	config, err := clientcmd.Load(admin)
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	if len(config.Clusters) != 1 {
		return nil, errors.New("read the administrator's kubeconfig: it must have exactly one cluster")
	}
	const name = "stack"
	out := api.NewConfig()
	for _, cluster := range config.Clusters {
		out.Clusters[name] = cluster
	}
	out.AuthInfos[name] = &api.AuthInfo{TokenFile: tokenFile}
	out.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	out.CurrentContext = name
	return clientcmd.Write(*out)
}
