package proxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/proxy"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

const secret = "S3CRET"

// credentials is a transport that adds the caller's credentials.
type credentials struct{}

func (credentials) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer the-callers")
	return http.DefaultTransport.RoundTrip(r)
}

// fixture returns a proxy with an upstream that echoes the request.
func fixture(t *testing.T) (*httptest.Server, string) {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Referrer-Policy", "no-referrer")
		for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer", "Last-Event-Id"} {
			w.Header().Set("Saw-"+name, r.Header.Get(name))
		}
		if _, err := io.WriteString(w, r.Host+" "+r.URL.RequestURI()); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(upstream.Close)
	local := httptest.NewUnstartedServer(nil)
	to, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	page := proxy.New(local.Listener.Addr().String(), secret, to, credentials{})
	local.Config.Handler = page
	local.Start()
	t.Cleanup(local.Close)
	if want := local.URL + "/" + secret + "/"; page.URL() != want {
		t.Errorf("the page is at %q, want %q", page.URL(), want)
	}
	return local, to.Host
}

// reply is a response.
type reply struct {
	status int
	header http.Header
}

func send(t *testing.T, method, address string, change func(*http.Request)) (reply, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header}, string(body)
}

func TestProxyForwardsOnlyCallerCredentials(t *testing.T) {
	local, upstream := fixture(t)
	response, body := send(t, http.MethodGet, local.URL+"/"+secret+"/api/v1/resources?kind=a%20b&name=x%2Fy", func(r *http.Request) {
		r.Header.Set("Cookie", "c=d")
		r.Header.Set("Authorization", "Bearer of-the-page")
		r.Header.Set("Origin", local.URL)
		r.Header.Set("Referer", local.URL+"/"+secret+"/")
		r.Header.Set("Last-Event-ID", "7")
	})
	if response.status != http.StatusOK || body != upstream+" /api/v1/resources?kind=a%20b&name=x%2Fy" {
		t.Fatalf("got %d %q", response.status, body)
	}
	for name, want := range map[string]string{
		"Saw-Authorization": "Bearer the-callers", "Saw-Cookie": "", "Saw-Origin": "", "Saw-Referer": "", "Saw-Last-Event-Id": "7",
		"Set-Cookie": "", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
	} {
		if got := response.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, body := send(t, http.MethodGet, local.URL+"/"+secret+"/api/v1/namespaces/a/superset/x%2Fy", nil); !strings.HasSuffix(body, "/superset/x%2Fy") {
		t.Errorf("an escaped path arrived as %q", body)
	}
}

func TestProxyRejectsForeignRequests(t *testing.T) {
	local, _ := fixture(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	validPath := "/" + secret + "/api/v1/resources"
	for name, tc := range map[string]struct {
		method, path string
		change       func(*http.Request)
	}{
		"without the secret":                 {http.MethodGet, "/api/v1/resources", nil},
		"at the root":                        {http.MethodGet, "/", nil},
		"with a part of the secret":          {http.MethodGet, "/" + secret[:3] + "/api/v1/resources", nil},
		"with the secret elsewhere":          {http.MethodGet, "/api/v1/resources?" + secret, nil},
		"under another name (DNS rebinding)": {http.MethodGet, validPath, func(r *http.Request) { r.Host = "evil.example.org" }},
		"from another origin":                {http.MethodGet, validPath, header("Origin", "http://evil.example.org")},
		"from another port of this machine":  {http.MethodGet, validPath, header("Origin", "http://127.0.0.1:1")},
		"from a sandboxed page":              {http.MethodGet, validPath, header("Origin", "null")},
		"another site, by Sec-Fetch-Site":    {http.MethodGet, validPath, header("Sec-Fetch-Site", "cross-site")},
		"another port, by Sec-Fetch-Site":    {http.MethodGet, validPath, header("Sec-Fetch-Site", "same-site")},
		"to write":                           {http.MethodPost, validPath, nil},
		"to delete":                          {http.MethodDelete, validPath, nil},
		"with a Referer without the secret":  {http.MethodGet, "/api/v1/resources", header("Referer", local.URL+"/")},
		"with a Referer of another origin":   {http.MethodGet, "/api/v1/resources", header("Referer", "http://evil.example.org/"+secret+"/")},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := send(t, tc.method, local.URL+tc.path, tc.change)
			var e statusapi.Error
			if response.status != http.StatusForbidden || json.Unmarshal([]byte(body), &e) != nil || e.Code != "Forbidden" {
				t.Errorf("got %d %q", response.status, body)
			}
			if strings.Contains(body, secret) || strings.Contains(response.header.Get("Location"), secret) {
				t.Error("the response contains the secret")
			}
		})
	}
}

func TestProxyRedirectsAbsolutePaths(t *testing.T) {
	local, _ := fixture(t)
	response, _ := send(t, http.MethodGet, local.URL+"/api/v1/resources?limit=1", func(r *http.Request) {
		r.Header.Set("Referer", local.URL+"/"+secret+"/")
	})
	if want := "/" + secret + "/api/v1/resources?limit=1"; response.status != http.StatusTemporaryRedirect || response.header.Get("Location") != want {
		t.Errorf("got %d to %q", response.status, response.header.Get("Location"))
	}
}

func TestProxyAcceptsCrossSiteNavigation(t *testing.T) {
	local, _ := fixture(t)
	response, body := send(t, http.MethodGet, local.URL+"/"+secret+"/", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	})
	if response.status != http.StatusOK || !strings.HasSuffix(body, " /") {
		t.Errorf("got %d %q", response.status, body)
	}
}

func TestProxyReportsUnreachableAggregator(t *testing.T) {
	unreachable, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	local := httptest.NewUnstartedServer(nil)
	local.Config.Handler = proxy.New(local.Listener.Addr().String(), secret, unreachable, credentials{})
	local.Start()
	defer local.Close()
	response, body := send(t, http.MethodGet, local.URL+"/"+secret+"/", nil)
	var e statusapi.Error
	if response.status != http.StatusBadGateway || json.Unmarshal([]byte(body), &e) != nil || e.Code != "Unavailable" {
		t.Errorf("got %d %q", response.status, body)
	}
}
