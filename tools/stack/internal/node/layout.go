package node

import (
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
)

// Name is the name of the node in its cluster.
const Name = "flotilla"

// The networks in the sandbox. They may be the same in each stack, since sandboxes are isolated from each other.
const (
	pods     = "10.244.0.0/16"
	services = "10.96.0.0/16"
	apiIP    = "10.96.0.1"
	dnsIP    = "10.96.0.10"
)

// layout returns the paths, names and addresses of the node of a stack.
type layout struct{ c checkout.Checkout }

func (l layout) dir(parts ...string) string {
	return l.c.Local(append([]string{"node"}, parts...)...)
}

func (l layout) pki(file string) string  { return l.dir("pki", file) }
func (l layout) conf(file string) string { return l.dir("conf", file) }

// link returns the name of the machine's end of the veth pair. Linux limits device names to 15 characters.
func (l layout) link() string { return "flotilla" + l.c.ID()[:7] }

// address returns an address of the network between the machine and the node. Each stack has its own network.
func (l layout) address(last byte) string {
	id, err := hex.DecodeString(l.c.ID())
	if err != nil || len(id) < 2 {
		id = []byte{0, 0} // an ID is eight hexadecimal digits
	}
	return fmt.Sprintf("10.213.%d.%d", id[0], id[1]&^3|last)
}

func (l layout) machine() string { return l.address(1) }

// node returns the address of the node.
func (l layout) node() string { return l.address(2) }

func (l layout) server() string { return "https://" + l.node() + ":6443" }

// values are the parameters of the templates in directory files.
type values struct {
	Node, Pods, DNS      string
	PKI, Conf, CNI, Runc string
	PauseImage           string
	Images               map[string]string
}

func (n *Node) values() (values, error) {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return values{}, fmt.Errorf("find runc: %w", err)
	}
	images := map[string]string{}
	for _, i := range n.tools.images() {
		name, err := i.Reference()
		if err != nil {
			return values{}, err
		}
		images[i.Name] = name
	}
	return values{
		Node: Name, Pods: pods, DNS: dnsIP,
		PKI: n.dir("pki"), Conf: n.dir("conf"), CNI: filepath.Join(n.tools.Packages, "usr/lib/cni"), Runc: runc,
		PauseImage: images["pause"], Images: images,
	}, nil
}
