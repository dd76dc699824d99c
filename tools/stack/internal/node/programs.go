package node

import (
	"path/filepath"

	"github.com/flotilla-dev/flotilla/libs/testkit/authority"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/sandbox"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/platform"
)

const (
	etcdURL  = "http://127.0.0.1:2379" // within the sandbox
	etcdPeer = "http://127.0.0.1:2380"
)

// programs returns the programs that the sandbox keeps running, in start order. A program that exits because another is
// not ready yet is restarted.
func (n *Node) programs() []sandbox.Program {
	// PATH is fixed, since a change of the environment would restart the node.
	path := "PATH=" + filepath.Join(n.tools.Packages, "usr/bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	conf := func(name string) string { return n.conf(name + ".kubeconfig") }
	program := func(name, file string, args ...string) sandbox.Program {
		return sandbox.Program{
			Name: name, Args: append([]string{file}, args...), Env: []string{path}, Log: n.c.Log(name),
		}
	}
	own := func(name string, args ...string) sandbox.Program {
		return program(name, n.tools.ControlPlane.Path(name), args...)
	}
	return []sandbox.Program{
		own("etcd", "--name=flotilla", "--data-dir="+n.dir("etcd"), "--unsafe-no-fsync",
			"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
			"--listen-peer-urls="+etcdPeer, "--initial-advertise-peer-urls="+etcdPeer,
			"--initial-cluster=flotilla="+etcdPeer, "--log-level=warn"),
		program("containerd", filepath.Join(n.tools.Packages, "usr/bin/containerd"), "--config="+n.conf("containerd.toml")),
		own("kube-apiserver", n.apiserver()...),
		own("kube-controller-manager",
			"--kubeconfig="+conf("kube-controller-manager"), "--bind-address=127.0.0.1",
			"--cluster-cidr="+pods, "--service-cluster-ip-range="+services,
			"--root-ca-file="+n.pki("ca.crt"), "--service-account-private-key-file="+n.pki("accounts.key"),
			"--cluster-signing-cert-file="+n.pki("ca.crt"), "--cluster-signing-key-file="+n.pki("ca.key"),
			"--use-service-account-credentials", "--leader-elect=false",
			// Shorter than the default, so that tests wait less for an unreachable node.
			"--node-monitor-grace-period=30s"),
		own("kube-scheduler", "--kubeconfig="+conf("kube-scheduler"), "--bind-address=127.0.0.1", "--leader-elect=false"),
		own("kubelet", "--kubeconfig="+conf("kubelet"), "--config="+n.conf("kubelet.yaml"),
			"--hostname-override="+Name, "--node-ip="+n.node()),
		own("kube-proxy", "--config="+n.conf("kube-proxy.yaml")),
	}
}

func (n *Node) apiserver() []string {
	return []string{
		"--etcd-servers=" + etcdURL,
		"--advertise-address=" + n.node(), "--secure-port=6443",
		"--service-cluster-ip-range=" + services,
		"--tls-cert-file=" + n.pki("kube-apiserver.crt"), "--tls-private-key-file=" + n.pki("kube-apiserver.key"),
		"--client-ca-file=" + n.pki("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--kubelet-certificate-authority=" + n.pki("ca.crt"),
		"--kubelet-client-certificate=" + n.pki("kubelet-client.crt"),
		"--kubelet-client-key=" + n.pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + n.pki("accounts.key"), "--service-account-signing-key-file=" + n.pki("accounts.key"),
		// Required by pods of the node's own components, such as storage.
		"--allow-privileged=true",
		"--audit-policy-file=" + n.conf("audit-policy.yaml"), "--audit-log-path=" + n.AuditLog(),
		"--audit-log-maxsize=200",
	}
}

// binds returns the directories of the machine that the sandbox mounts at the default paths of the node's programs.
func (n *Node) binds() []sandbox.Bind {
	return []sandbox.Bind{
		{Dir: n.c.Local(), At: n.c.Local()}, // stays visible, even below a directory that the sandbox hides
		{Dir: n.dir("containerd"), At: "/run/flotilla/containerd"},
		{Dir: n.dir("volumes"), At: "/run/flotilla/volumes"},
		{Dir: n.dir("log"), At: "/var/log"},
	}
}

// scratch returns the file system of the kubelet's directory, with the emptyDir volumes of pods. It is small and
// separate, so that a pod that fills it causes disk pressure on the node, not on the machine.
func (n *Node) scratch() []sandbox.Scratch { return []sandbox.Scratch{{At: kubeletDir, Size: "1g"}} }

// kubeletDir is the default directory of the kubelet, which always expects device plugin sockets there.
const kubeletDir = "/var/lib/kubelet"

// identities returns the subjects of all certificates by file name. The node and the programs are clients of the API
// server.
func (n *Node) identities() map[string]authority.Subject {
	return map[string]authority.Subject{
		"admin":                   {User: "flotilla-admin", Groups: []string{"system:masters"}},
		"kubelet":                 {User: "system:node:" + Name, Groups: []string{"system:nodes"}},
		"kube-proxy":              {User: "system:kube-proxy"},
		"kube-scheduler":          {User: "system:kube-scheduler"},
		"kube-controller-manager": {User: "system:kube-controller-manager"},
		"kubelet-client":          {User: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
		"accounts":                {User: "service-accounts"},
		"kubelet-server":          {User: "system:node:" + Name, Hosts: []string{Name, n.node()}},
		"nats":                    {User: "nats", Hosts: append(platform.NATSHosts(), n.node())},
		"kube-apiserver": {User: "kube-apiserver", Hosts: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
			"localhost", "127.0.0.1", apiIP, n.node(),
		}},
	}
}

// clients are the identities with a kubeconfig in addition to their certificate.
var clients = []string{"kubelet", "kube-proxy", "kube-scheduler", "kube-controller-manager"}
