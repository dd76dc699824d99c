package gateway

import (
	"fmt"
	"net/netip"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// message is a part of Envoy's configuration with its own validation rules.
type message interface {
	proto.Message
	ValidateAll() error
}

// bootstrap returns the complete configuration of an Envoy that listens at an address and routes to the engines of a
// namespace. Equal input gives equal bytes.
func bootstrap(namespace string, listen netip.Addr, metricsPort int32) (string, error) {
	p := &anyPacker{}
	config := &bootstrapv3.Bootstrap{
		Admin: &bootstrapv3.Admin{Address: address(loopback, names.PortEnvoyAdmin)},
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{
			Listeners: []*listenerv3.Listener{queryListener(p, namespace, listen), statsListener(p, listen, metricsPort)},
			Clusters:  []*clusterv3.Cluster{enginesCluster(p), adminCluster()},
		},
	}
	p.check(config)
	if p.err != nil {
		return "", p.err
	}
	return text(config)
}

// text returns a message as YAML. The whitespace of protobuf's JSON differs between builds,
// and the keys of YAML are sorted: the text is the same in every process.
func text(m proto.Message) (string, error) {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("marshal %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	out, err := yaml.JSONToYAML(raw)
	if err != nil {
		return "", fmt.Errorf("convert %s to YAML: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return string(out), nil
}

// anyPacker packs messages into Any messages and keeps the first validation error,
// since Envoy's rules do not reach into a packed message.
type anyPacker struct{ err error }

func (p *anyPacker) check(m message) {
	if err := m.ValidateAll(); err != nil && p.err == nil {
		p.err = fmt.Errorf("check %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
}

func (p *anyPacker) pack(m message) *anypb.Any {
	p.check(m)
	out := &anypb.Any{}
	if err := anypb.MarshalFrom(out, m, proto.MarshalOptions{Deterministic: true}); err != nil && p.err == nil {
		p.err = fmt.Errorf("pack %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return out
}

func (p *anyPacker) extension(name string, m message) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: name, TypedConfig: p.pack(m)}
}

const (
	loopback      = "127.0.0.1"
	bufferBytes   = 2 << 20
	healthPath    = "/healthz"
	metricsPath   = "/stats/prometheus"
	engineCluster = "engines"
	adminName     = "admin"
)

func address(host string, port int32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)}, //nolint:gosec // a port is positive
	}}}
}

func millis(n int64) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Millisecond) }

func seconds(n int64) *durationpb.Duration { return millis(1000 * n) }
