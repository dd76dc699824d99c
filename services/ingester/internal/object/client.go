package object

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Client is a client of the API server for the objects of one kind.
type Client struct {
	rest        rest.Interface
	clock       clock.PassiveClock
	resource    string
	annotations []string
}

// NewClient returns the client of one resource, such as "models". The objects that it
// returns have the named annotations only.
func NewClient(cfg *rest.Config, h *http.Client, c clock.PassiveClock, resource schema.GroupVersionResource, annotations ...string) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	gv := resource.GroupVersion()
	cfg.GroupVersion, cfg.APIPath = &gv, "/apis"
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	r, err := rest.RESTClientForConfigAndClient(cfg, h)
	if err != nil {
		return nil, fmt.Errorf("create client of %s: %w", resource.Resource, err)
	}
	return &Client{rest: r, clock: c, resource: resource.Resource, annotations: annotations}, nil
}

// optionsVersion is the version of the options of every request, whatever the resource's own is.
var optionsVersion = schema.GroupVersion{Version: "v1"}

// newRead returns a read request without compression, which would cost both sides more time than
// it saves between two processes of one cluster.
func (c *Client) newRead(namespace string, options *metav1.ListOptions) *rest.Request {
	return c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource(c.resource).
		SetHeader("Accept-Encoding", "identity").SpecificallyVersionedParams(options, clientgoscheme.ParameterCodec, optionsVersion)
}

// Get returns the object as the API server has it now. Neither side answers from a cache.
func (c *Client) Get(ctx context.Context, namespace, name string) (*Object, error) {
	answer, err := c.newRead(namespace, &metav1.ListOptions{}).Name(name).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	return Parse(answer, c.annotations...)
}

// List returns the objects of a namespace, or of all namespaces when it is empty. arrived,
// if not nil, is called with each object as soon as it is decoded.
func (c *Client) List(ctx context.Context, namespace string, options metav1.ListOptions, arrived func(*Object)) (_ *List, err error) {
	body, err := c.newRead(namespace, &options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	list := &List{}
	dec := jsontext.NewDecoder(body, lenient...)
	err = members(dec, func(name []byte) error {
		switch string(name) {
		case "metadata":
			return decode(dec, &list.ListMeta)
		case "items":
			return c.items(dec, list, arrived)
		}
		return dec.SkipValue()
	})
	if err != nil {
		return nil, fmt.Errorf("decode list of %s: %w", c.resource, err)
	}
	return list, nil
}

func (c *Client) items(dec *jsontext.Decoder, list *List, arrived func(*Object)) error {
	token, err := dec.ReadToken()
	if err != nil || token.Kind() == 'n' {
		return err
	}
	if token.Kind() != '[' {
		return fmt.Errorf("got %s for items, want list", token.Kind())
	}
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		object, err := Parse(item.Clone(), c.annotations...)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, object)
		if arrived != nil {
			arrived(object)
		}
	}
	_, err = dec.ReadToken()
	return err
}

// Watch watches objects. It sets options.Watch.
func (c *Client) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	body, err := c.newRead(namespace, &options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	d := &events{client: c, body: body, dec: jsontext.NewDecoder(body, lenient...)}
	return watch.NewStreamWatcher(d, apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}

// PatchFinalizers sets the object's finalizers, provided that it has not changed, and returns the
// patched object.
func (c *Client) PatchFinalizers(ctx context.Context, o *Object, manager string, finalizers []string) (*Object, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.ResourceVersion,
		"uid":             o.UID,
		"finalizers":      finalizers,
	}})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	result := c.rest.Patch(types.MergePatchType).Namespace(o.Namespace).Resource(c.resource).Name(o.Name).
		Param("fieldManager", manager).Body(patch).Do(ctx)
	if err := result.Error(); err != nil { // Raw would omit the message of the API server
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	return Parse(answer, c.annotations...)
}

// Delete deletes exactly this version of the object. policy decides about its dependents; nil means the default of the API server.
func (c *Client) Delete(ctx context.Context, o *Object, policy *metav1.DeletionPropagation) error {
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion},
		PropagationPolicy: policy,
	})
	if err != nil {
		return fmt.Errorf("encode preconditions: %w", err)
	}
	return c.rest.Delete().Namespace(o.Namespace).Resource(c.resource).Name(o.Name).
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
}

// decode decodes the next value into a Go value.
func decode(dec *jsontext.Decoder, into any) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return json.Unmarshal(value, into)
}

// ListWatch adapts a client to an informer.
type ListWatch struct {
	Client    *Client
	Namespace string
	// Arrived, if set, is called with each object of a list while the list is still being received.
	Arrived func(*Object)
}

// List implements cache.ListerWatcher.
func (l ListWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (l ListWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.Client.List(ctx, l.Namespace, options, l.Arrived)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Watch implements cache.ListerWatcher.
func (l ListWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (l ListWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.AllowWatchBookmarks = true
	return l.Client.Watch(ctx, l.Namespace, options)
}

// IsWatchListSemanticsUnSupported makes an informer begin with a list, not with a watch
// that sends all objects first: the list costs the API server less than half.
func (ListWatch) IsWatchListSemanticsUnSupported() bool { return true }
