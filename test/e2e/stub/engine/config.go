package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

// Config is the content of config.yaml. Unknown keys are rejected.
type Config struct {
	SchemaVersion string   `json:"schema_version"`
	Instance      Instance `json:"instance"`
	Engine        Node     `json:"engine"`
	Logging       struct {
		Format string `json:"format"`
		Level  string `json:"level"`
	} `json:"logging"`
	// Storage has settings of users. It is accepted but not used.
	Storage map[string]any `json:"storage"`
	// Faults controls the stub. Scenarios set it with customEngineConfig.
	Faults Faults `json:"stub"`
}

// Instance is the section of config.yaml about the instance of the engine.
type Instance struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Region      string `json:"region"`
	MultiEngine struct {
		MetadataEndpoint string `json:"metadata_endpoint"`
	} `json:"multi_engine"`
}

// Node is the section of config.yaml about the engine and its nodes.
type Node struct {
	ID    string `json:"id"`
	Nodes []struct {
		Host string `json:"host"`
	} `json:"nodes"`
	TerminationGracePeriod string `json:"termination_grace_period"`
}

// Faults are failures that a test can request.
type Faults struct {
	// ReadyAfter is the time until the engine is ready.
	ReadyAfter string `json:"ready_after"`
	// Refuse is a message with which the process exits immediately, like an engine that never starts.
	Refuse string `json:"refuse"`
}

// Read reads and validates a configuration file.
func Read(path string) (Config, error) {
	var c Config
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read configuration: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return c, fmt.Errorf("read configuration %s: %w", path, err)
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

func (c Config) check() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	require(c.SchemaVersion == "1.0", "schema_version is %q, want 1.0", c.SchemaVersion)
	require(c.Instance.Type == "multi_engine", "instance.type is %q, want multi_engine", c.Instance.Type)
	require(c.Instance.ID != "", "instance.id is missing")
	require(c.Instance.MultiEngine.MetadataEndpoint != "", "instance.multi_engine.metadata_endpoint is missing")
	require(c.Engine.ID != "", "engine.id is missing")
	require(len(c.Engine.Nodes) > 0, "engine.nodes is empty")
	require(c.Engine.TerminationGracePeriod != "", "engine.termination_grace_period is missing")
	require(c.Faults.Refuse == "", "%s", c.Faults.Refuse)
	for name, text := range map[string]string{
		"engine.termination_grace_period": c.Engine.TerminationGracePeriod, "stub.ready_after": c.Faults.ReadyAfter,
	} {
		if text != "" {
			_, err := time.ParseDuration(text)
			require(err == nil, "%s: %q is not a duration", name, text)
		}
	}
	return errors.Join(problems...)
}

// duration parses a duration that check has validated. It returns 0 for an empty text.
func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// Identify returns the identity of a node, parsed from its host <engine>-g<generation>-<node>.<Service>.
func (c Config) Identify(node int, version string) (server.Identity, error) {
	if node < 0 || node >= len(c.Engine.Nodes) {
		return server.Identity{}, fmt.Errorf("--node %d: the configuration has %d nodes", node, len(c.Engine.Nodes))
	}
	pod, _, _ := strings.Cut(c.Engine.Nodes[node].Host, ".")
	text := strings.TrimSuffix(strings.TrimPrefix(pod, c.Engine.ID+"-g"), "-"+strconv.Itoa(node))
	generation, err := strconv.Atoi(text)
	if err != nil {
		return server.Identity{}, fmt.Errorf("host of node %d is %q, want %s-g<generation>-%d", node, pod, c.Engine.ID, node)
	}
	return server.Identity{Engine: c.Engine.ID, Generation: generation, Node: node, Pod: pod, Version: version}, nil
}
