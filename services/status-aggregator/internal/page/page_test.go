package page_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestFilesHaveSecurityHeaders(t *testing.T) {
	s := newSiteEnv(t)
	for path, contentType := range map[string]string{
		"/": "text/html", "/assets/app.js": "text/javascript", "/assets/style.css": "text/css", "/assets/icon.svg": "image/svg+xml",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		policy := response.Header.Get("Content-Security-Policy")
		if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), contentType) ||
			!strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") || response.Header.Get("ETag") == "" {
			t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
		}
	}
	for _, path := range []string{"/assets/", "/assets/..", "/assets/none.js", "/assets/%2e%2e%2fpage.go", "/assets/page.go"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < 300 {
			t.Errorf("%s is %d", path, response.StatusCode)
		}
	}
}
