package load

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// superset serves a login form like Superset's, and a page for clients with a session.
func superset(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie("session")
	switch {
	case r.URL.Path == "/login/" && r.Method == http.MethodGet:
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "form", Path: "/"})
		fmt.Fprint(w, "<input type=\"hidden\"\n name=\"csrf_token\"\n id=\"csrf_token\"\n value=\"t1\" />")
	case r.URL.Path == "/login/":
		to := "/login/?next=%2F"
		if err == nil && cookie.Value == "form" && r.FormValue("csrf_token") == "t1" && r.FormValue("username") == "admin" && r.FormValue("password") == "secret" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "user", Path: "/"})
			to = "/"
		}
		http.Redirect(w, r, to, http.StatusFound)
	case err == nil && cookie.Value == "user":
		fmt.Fprint(w, "welcome")
	default:
		http.Redirect(w, r, "/login/", http.StatusFound)
	}
}

func TestLoginBeginsSession(t *testing.T) {
	address := answering(t, superset)
	for name, tc := range map[string]struct {
		login *Login
		fails bool
		class string
	}{
		"no login":         {nil, false, "302"},
		"the right one":    {&Login{"admin", "secret"}, false, "200 page"},
		"a wrong password": {&Login{"admin", "guess"}, true, "200"}, // the form, to which the page redirects
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(Request{
				Method: http.MethodGet, URL: address + "/superset/welcome/", Timeout: 5 * time.Second,
				Labels: labels(t, "page=welcome"), Good: []string{"page"}, Login: tc.login,
			}, true)
			if err := c.login(t.Context()); (err != nil) != tc.fails {
				t.Errorf("login: %v", err)
			}
			if got := c.do(t.Context()); got.Class != tc.class {
				t.Errorf("%+v, want %s", got, tc.class)
			}
		})
	}
}

func TestLoginIsRepeatedWhenLimited(t *testing.T) {
	rejected := 0
	address := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && rejected < 2 {
			rejected++
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		superset(w, r)
	})
	c := newClient(Request{
		Method: http.MethodGet, URL: address + "/superset/welcome/", Timeout: 5 * time.Second, Login: &Login{"admin", "secret"},
	}, true)
	if err := c.login(t.Context()); err != nil || rejected != 2 {
		t.Errorf("login after %d rejections: %v", rejected, err)
	}
}

func TestParseLogin(t *testing.T) {
	if l, err := ParseLogin("admin:a:b"); err != nil || *l != (Login{"admin", "a:b"}) {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := ParseLogin(""); err != nil || l != nil {
		t.Errorf("%v, %v", l, err)
	}
	for _, text := range []string{"admin", "admin:", ":secret"} {
		if _, err := ParseLogin(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
