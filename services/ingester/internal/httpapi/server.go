package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Store is the part of storage.MetadataStorage that the API uses.
type Store interface {
	GetByName(ctx context.Context, namespace, name string, object runtime.Object) error
	List(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, listOptions *metav1.ListOptions, ext *storage.ListOptionsExt, response *storage.ListResponse) error
	DeleteCollection(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, deleteOptions *metav1.DeleteOptions, listOptions *metav1.ListOptions) error
}

var _ Store = storage.MetadataStorage(nil)

// Config holds the dependencies of a server. All fields except Registerer are required.
type Config struct {
	Options    Options
	Authorizer *access.Authorizer
	Cluster    Cluster
	Store      Store
	// Registerer registers the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	Log        logr.Logger
	Clock      clock.PassiveClock
}

// New returns a server for valid options that are Enabled. It does not listen yet.
func New(c Config) (*httpserver.Server, error) {
	handler, err := newHandler(c)
	if err != nil {
		return nil, err
	}
	return httpserver.New(httpserver.Config{Options: c.Options.Options, Handler: handler, Log: c.Log}), nil
}

func newHandler(c Config) (http.Handler, error) {
	kinds, err := registry.Load()
	if err != nil {
		return nil, err
	}
	a := &handlers{authorizer: c.Authorizer, cluster: c.Cluster, store: newUserReads(c.Store), kinds: kindsByPlural(kinds)}
	return a.handler(c)
}

// Options are the settings of the API. The zero value serves none.
type Options struct{ httpserver.Options }

// maxStatementTimeout is less than the read timeout of a connection, which ends it and not the statement.
const maxStatementTimeout = 20 * time.Second

// StatementTimeout returns the longest time that one statement of a request may take in the database: less than the request,
// so that its caller gets the cause.
func (o *Options) StatementTimeout() time.Duration {
	return min(o.RequestTimeout/2, maxStatementTimeout)
}

// AddFlags adds the flags with their defaults.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs, httpserver.FlagText{
		Served: "the HTTP API", WithoutCertificate: "the certificate is made in memory", Request: "one request to the HTTP API",
	})
}
