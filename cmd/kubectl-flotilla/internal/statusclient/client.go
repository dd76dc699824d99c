package statusclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// maxErrorBytes limits how much of an error response is read.
const maxErrorBytes = 64 * 1024

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
}

// New returns a client of the server at a base URL. The transport adds the credentials.
func New(base *url.URL, transport http.RoundTripper) *Client {
	return &Client{base: base, http: &http.Client{
		Transport: transport,
		// A redirect could carry the credentials to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Error is an error response of the API.
type Error struct {
	Status  int // HTTP status code
	Code    string
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the status API returned %s: %s", e.Code, e.Message)
}

// Refused returns the API's own error in err, or nil if the API was unreachable.
func Refused(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

// Filter selects resources or events; an empty field matches all.
type Filter struct {
	Namespace string
	Kind      contract.Kind
	Name      string // events only
	// Conditions are of the form Type or Type=Status; resources only.
	Conditions []string
}

func (f Filter) values() url.Values {
	v := url.Values{}
	for key, value := range map[string]string{
		statusapi.ParamNamespace: f.Namespace, statusapi.ParamKind: string(f.Kind), statusapi.ParamName: f.Name,
	} {
		if value != "" {
			v.Set(key, value)
		}
	}
	for _, c := range f.Conditions {
		v.Add(statusapi.ParamCondition, c)
	}
	return v
}

// Resources returns all resources that match the filter; it reads all pages.
func (c *Client) Resources(ctx context.Context, f Filter) ([]statusapi.Resource, error) {
	var out []statusapi.Resource
	query := f.values()
	for {
		var page statusapi.ResourceList
		if err := c.get(ctx, statusapi.PathResources, query, &page); err != nil {
			return nil, fmt.Errorf("list resources: %w", err)
		}
		out = append(out, page.Items...)
		if page.Continue == "" {
			return out, nil
		}
		query.Set(statusapi.ParamContinue, page.Continue)
	}
}

// Check requests one arbitrary resource to verify that the API is reachable and accepts the credentials.
func (c *Client) Check(ctx context.Context) error {
	query := url.Values{statusapi.ParamLimit: {"1"}}
	return c.get(ctx, statusapi.PathResources, query, &statusapi.ResourceList{})
}

// Resource returns the details of one resource, with at most history events; 0 means the server's default.
func (c *Client) Resource(ctx context.Context, kind contract.Kind, namespace, name string, history int) (statusapi.ResourceDetail, error) {
	path := strings.NewReplacer(
		"{namespace}", url.PathEscape(namespace), "{kind}", url.PathEscape(string(kind)), "{name}", url.PathEscape(name),
	).Replace(statusapi.PathResource)
	query := url.Values{}
	if history > 0 {
		query.Set(statusapi.ParamLimit, strconv.Itoa(history))
	}
	var detail statusapi.ResourceDetail
	if err := c.get(ctx, path, query, &detail); err != nil {
		return detail, fmt.Errorf("read %s/%s: %w", kind, name, err)
	}
	return detail, nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	response, err := c.request(ctx, path, query, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("decode the response of the status API: %w", err)
	}
	return nil
}

// request returns a successful response, whose body the caller must close.
func (c *Client) request(ctx context.Context, path string, query url.Values, header http.Header) (*http.Response, error) {
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	request.Header = header
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("connect to the status API: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	return nil, apiError(response)
}

func apiError(response *http.Response) error {
	apiErr := &Error{Status: response.StatusCode, Code: strconv.Itoa(response.StatusCode), Message: http.StatusText(response.StatusCode)}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err != nil {
		return errors.Join(apiErr, fmt.Errorf("read the response of the status API: %w", err))
	}
	var e statusapi.Error
	// A proxy may return an error in another format than the API's.
	if json.Unmarshal(body, &e) == nil && e.Code != "" {
		apiErr.Code, apiErr.Message = e.Code, e.Message
	}
	return apiErr
}
