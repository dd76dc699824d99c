package mysqlserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

const (
	// EnvImage names the variable with the image to run in Docker.
	EnvImage     = "FLOTILLA_MYSQL_IMAGE"
	defaultImage = "mysql:9.7"
	mariaDBImage = "mariadb:10.11"

	dockerAnswer = 10 * time.Second
	pullTimeout  = 5 * time.Minute
)

// dockerServer runs the image if a daemon answers. It requires the docker program too, because the watchdog uses it to
// remove the container of a killed test.
func dockerServer(ctx context.Context, cfg Config) (*Server, error) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, unavailable{"docker is not on PATH"}
	}
	if _, err := run(ctx, dockerAnswer, docker, "version", "--format", "{{.Server.Version}}"); err != nil {
		return nil, unavailable{"no Docker daemon answers"}
	}
	image := imageOf(cfg.Vendor)
	if _, err := run(ctx, dockerAnswer, docker, "image", "inspect", image); err != nil {
		cfg.Logf("pulling the image %s", image)
		if _, err := run(ctx, pullTimeout, docker, "pull", "--quiet", image); err != nil {
			return nil, unavailable{fmt.Sprintf("the image %s is not there and cannot be pulled (%v); "+
				"`make offline-images` builds it without a registry", image, err)}
		}
	}
	return containerServer(cfg, docker, image)
}

// imageOf returns the image to run. If no vendor is requested, the variable may name any server, including MariaDB.
func imageOf(v Vendor) string {
	override := os.Getenv(EnvImage)
	switch {
	case v == MariaDB && !strings.Contains(override, "mariadb"):
		return mariaDBImage
	case override == "" || v == MySQL && strings.Contains(override, "mariadb"):
		return defaultImage
	default:
		return override
	}
}

// existingContainer reuses the container of the configured name.
func existingContainer(ctx context.Context, cfg Config) (*Server, error) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, unavailable{}
	}
	image, err := run(ctx, dockerAnswer, docker, "container", "inspect", "--format", "{{.Config.Image}}", cfg.Name)
	if err != nil {
		return nil, unavailable{}
	}
	return containerServer(cfg, docker, image)
}

func containerServer(cfg Config, docker, image string) (*Server, error) {
	login, err := local(cfg, "root")
	if err != nil {
		return nil, err
	}
	return &Server{
		Source:    "the Docker container " + cfg.Name + " of " + image,
		Container: cfg.Name,
		login:     login,
		backend:   &dockerBackend{cfg: cfg, image: image, docker: docker},
	}, nil
}

type dockerBackend struct {
	cfg           Config
	image, docker string
}

func (d *dockerBackend) start(ctx context.Context, s *Server) error {
	// The reaper of testcontainers would be one more image to pull; the watchdog and `make down` remove containers.
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return fmt.Errorf("configure testcontainers: %w", err)
	}
	tclog.SetDefault(tclog.NewNoopLogger())
	binding := network.PortMap{network.MustParsePort("3306/tcp"): {{
		HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(d.cfg.Port),
	}}}
	var command []string // the image's own
	if d.cfg.BinaryLog && strings.Contains(d.image, "mariadb") {
		command = []string{binaryLogArgument}
	}
	_, err := testcontainers.Run(ctx, d.image,
		testcontainers.WithCmd(command...),
		testcontainers.WithReuseByName(d.cfg.Name),
		testcontainers.WithEnv(map[string]string{"MYSQL_ROOT_PASSWORD": password, "MYSQL_ROOT_HOST": "%"}),
		testcontainers.WithExposedPorts("3306/tcp"),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) { h.PortBindings = binding }),
		testcontainers.WithLogger(tclog.NewNoopLogger()),
	)
	if err != nil {
		return err
	}
	return s.waitReady(ctx, func() error { return d.stopReason(ctx) })
}

// stopReason returns the reason why the container stopped, or nil if it runs.
func (d *dockerBackend) stopReason(ctx context.Context) error {
	state, err := run(ctx, dockerAnswer, d.docker, "container", "inspect", "--format", "{{.State.Status}}", d.cfg.Name)
	if err != nil || state == "running" || state == "created" {
		return nil //nolint:nilerr // an unknown state does not mean stopped; the caller has a timeout
	}
	logs, err := run(ctx, dockerAnswer, d.docker, "logs", "--tail", "10", d.cfg.Name)
	return errors.Join(fmt.Errorf("the container is %s: %s", state, logs), err)
}

func (d *dockerBackend) stop(ctx context.Context) error {
	_, err := run(ctx, time.Minute, d.docker, "stop", d.cfg.Name)
	return err
}

func (d *dockerBackend) kill(ctx context.Context) error {
	_, err := run(ctx, time.Minute, d.docker, "kill", d.cfg.Name)
	return err
}

func (d *dockerBackend) remove(ctx context.Context) error {
	return RemoveContainer(ctx, d.cfg.Name)
}

// RemoveContainer removes a container and its volumes. A missing container is not an error.
func RemoveContainer(ctx context.Context, name string) error {
	_, err := run(ctx, time.Minute, "docker", "rm", "--force", "--volumes", name)
	if err != nil && strings.Contains(err.Error(), "No such container") {
		return nil
	}
	return err
}

func run(ctx context.Context, timeout time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return text, fmt.Errorf("%s %s: no answer within %s", name, args[0], timeout)
	}
	if err != nil {
		return text, fmt.Errorf("%s %s: %w: %s", name, args[0], err, text)
	}
	return text, nil
}
