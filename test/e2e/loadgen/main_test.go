package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

func TestLoadgenServesCounts(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("X-Firebolt-Engine") != "etl" {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, "generation 3")
	}))
	defer target.Close()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{
			"--url", target.URL, "--method", "POST", "--body", "SELECT 1", "--header", "x-firebolt-engine: etl",
			"--label", "new=generation 3", "--good", "new", "--rate", "200", "--listen", address,
		})
	}()
	expect.Eventually(t, expect.Long, func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/counts", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var phases []load.Figures
		if err := json.NewDecoder(response.Body).Decode(&phases); err != nil {
			return err
		}
		if f := phases[0]; f.Classes["200 new"] < 10 || f.Failed > 0 {
			return fmt.Errorf("%+v", f)
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLoadgenRejectsInvalidArguments(t *testing.T) {
	for name, args := range map[string][]string{
		"no URL":             {},
		"an unknown flag":    {"--url", "http://a", "--frobnicate"},
		"an invalid header":  {"--url", "http://a", "--header", "x"},
		"an invalid label":   {"--url", "http://a", "--label", "x=("},
		"an unknown label":   {"--url", "http://a", "--good", "new"},
		"an invalid address": {"--url", "http://a", "--listen", "256.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), args); err == nil {
				t.Error("no error")
			}
		})
	}
}
