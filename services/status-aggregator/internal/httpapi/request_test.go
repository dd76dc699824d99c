package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// response is a response that has been read.
type response struct {
	*http.Response
	body []byte
}

func (b *testEnv) request(method, path string, headers ...string) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.base+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func (b *testEnv) get(path string, headers ...string) response {
	b.Helper()
	return b.send(http.MethodGet, path, headers...)
}

// send sends a request and validates the response against docs/openapi.yaml.
func (b *testEnv) send(method, path string, headers ...string) response {
	b.Helper()
	r := b.request(method, path, headers...)
	res, err := b.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	out := response{Response: res}
	if out.body, err = io.ReadAll(res.Body); err != nil {
		b.Fatal(err)
	}
	b.validate(r, out)
	return out
}

func (b *testEnv) validate(r *http.Request, a response) {
	b.Helper()
	described, params, err := b.router.FindRoute(r)
	if err != nil {
		var e statusapi.Error
		if a.StatusCode < http.StatusBadRequest || json.Unmarshal(a.body, &e) != nil || e.Code == "" || e.Message == "" {
			b.Errorf("%s %s is in no document, but is answered by %d: %s", r.Method, r.URL, a.StatusCode, a.body)
		}
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: described, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
	}}
	if a.StatusCode < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(b.Context(), in); err != nil {
			b.Errorf("%s %s was answered by %d, but the document refuses it: %v", r.Method, r.URL, a.StatusCode, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.StatusCode, Header: a.Header, Options: in.Options, Body: io.NopCloser(bytes.NewReader(a.body)),
	}
	if err := openapi3filter.ValidateResponse(b.Context(), out); err != nil {
		b.Errorf("%s %s: the answer %d does not fit the document: %v\n%s", r.Method, r.URL, a.StatusCode, err, a.body)
	}
}

// decode decodes a successful response, strictly.
func decode[T any](b *testEnv, a response) T {
	b.Helper()
	var out T
	if a.StatusCode != http.StatusOK {
		b.Fatalf("the answer is %d: %s", a.StatusCode, a.body)
	}
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&out); err != nil {
		b.Fatal(err)
	}
	return out
}

// wantError checks an error response.
func (b *testEnv) wantError(a response, status int, code, text string) {
	b.Helper()
	var e statusapi.Error
	if err := json.Unmarshal(a.body, &e); err != nil || a.StatusCode != status || e.Code != code || !strings.Contains(e.Message, text) {
		b.Errorf("%s: the answer is %d %s, want %d %s with %q", a.Request.URL, a.StatusCode, a.body, status, code, text)
	}
}
