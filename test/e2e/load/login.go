package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Login is the Superset account with which each client begins its own session.
type Login struct {
	User, Password string
}

// ParseLogin parses USER:PASSWORD. It returns nil for an empty text.
func ParseLogin(text string) (*Login, error) {
	if text == "" {
		return nil, nil
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok || user == "" || password == "" {
		return nil, fmt.Errorf("login: want USER:PASSWORD")
	}
	return &Login{User: user, Password: password}, nil
}

// csrfToken matches the hidden field of Superset's login form, in each release since 4.
var csrfToken = regexp.MustCompile(`name="csrf_token"[^>]*value="([^"]+)"`)

// login submits Superset's login form, so later requests have a session cookie.
func (c *client) login(ctx context.Context) error {
	if c.Login == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	c.http.Jar = jar
	form, err := url.Parse(c.URL)
	if err != nil {
		return err
	}
	form.Path, form.RawQuery = "/login/", ""
	page, err := c.send(ctx, http.MethodGet, form.String(), nil)
	if err != nil {
		return fmt.Errorf("get the login form: %w", err)
	}
	token := csrfToken.FindSubmatch(page.body)
	if token == nil {
		return fmt.Errorf("%s has no field csrf_token", form.Path)
	}
	answer, err := c.submit(ctx, form.String(), url.Values{
		"csrf_token": {string(token[1])}, "username": {c.Login.User}, "password": {c.Login.Password},
	})
	if err != nil {
		return fmt.Errorf("submit the login form: %w", err)
	}
	// Superset redirects to the form after a wrong password.
	if answer.status != http.StatusFound || strings.Contains(answer.location, form.Path) {
		return fmt.Errorf("login of %s: status %d, location %q", c.Login.User, answer.status, answer.location)
	}
	return nil
}

// submit sends the login form, and again while Superset answers that too many logins come from this address: it limits
// them per second, and all clients have the same address.
func (c *client) submit(ctx context.Context, form string, fields url.Values) (page, error) {
	for {
		answer, err := c.send(ctx, http.MethodPost, form, fields)
		if err != nil || answer.status != http.StatusTooManyRequests {
			return answer, err
		}
		next := time.NewTimer(answer.retryAfter)
		select {
		case <-ctx.Done():
			next.Stop()
			return answer, nil
		case <-next.C:
		}
	}
}

// page is an answer to a request of the login.
type page struct {
	status     int
	location   string
	retryAfter time.Duration // of an answer that rejects the request for now
	body       []byte
}

// send sends a request of the login, with form fields unless they are nil.
func (c *client) send(ctx context.Context, method, to string, fields url.Values) (page, error) {
	request, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(fields.Encode()))
	if err != nil {
		return page{}, err
	}
	if fields != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return page{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	retryAfter := time.Second
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		retryAfter = time.Duration(seconds) * time.Second
	}
	return page{response.StatusCode, response.Header.Get("Location"), retryAfter, body}, err
}
