package components

import (
	"context"
	"fmt"
	"strconv"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/process"
)

// The uses of NATS's ports in the state.
const (
	natsPort        = "nats"
	natsMonitorPort = "nats-monitor"
)

// NewNATS returns a NATS server with JetStream, from the pinned module of tools/.
func NewNATS(env *Env) Component {
	return &program{
		name: "nats",
		env:  env,
		spec: func(port portFunc) (process.Spec, error) { return natsSpec(env, port) },
		address: func() string {
			return env.NATSURL()
		},
		healthy: func(ctx context.Context) error {
			return answers(ctx, fmt.Sprintf("http://%s/healthz", freeport.Address(env.State.Ports[natsMonitorPort])))
		},
	}
}

// NATSURL returns the URL for clients.
func (e *Env) NATSURL() string {
	return "nats://" + freeport.Address(e.State.Ports[natsPort])
}

func natsSpec(env *Env, port portFunc) (process.Spec, error) {
	client, err := port(natsPort)
	if err != nil {
		return process.Spec{}, err
	}
	monitor, err := port(natsMonitorPort)
	if err != nil {
		return process.Spec{}, err
	}
	config := env.Checkout.Path("hack", "nats.conf")
	return process.Spec{
		Name: "nats",
		// exec replaces the shell, so that the process is the server.
		Args: []string{
			env.Checkout.Path("hack", "tool"), "nats-server",
			"--config", config, "--name", "flotilla-" + env.Checkout.ID(),
			"--addr", "127.0.0.1", "--port", strconv.Itoa(client), "--http_port", strconv.Itoa(monitor),
			"--jetstream", "--store_dir", env.Checkout.Local("nats"),
		},
		Dir:    env.Checkout.Root,
		Log:    env.Checkout.Log("nats"),
		Run:    env.Checkout.Local("run"),
		Marker: env.Checkout.Marker(),
		Files:  []string{env.Checkout.Path("tools", "go.mod"), config},
	}, nil
}
