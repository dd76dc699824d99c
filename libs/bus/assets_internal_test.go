package bus

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAdviceNamesStorageOfServersThatHaveLess(t *testing.T) {
	api := func(code jetstream.ErrorCode, text string) error {
		return &jetstream.APIError{Code: 400, ErrorCode: code, Description: text}
	}
	cases := map[string]struct {
		err  error
		want bool
	}{
		"a single server": {api(10047, "insufficient storage resources available"), true},
		"a cluster":       {api(10005, "no suitable peers for placement, insufficient storage"), true},
		"too few servers": {api(10005, "no suitable peers for placement"), false},
		"another error":   {api(10058, "stream name already in use"), false},
		"no answer":       {errors.New("timeout"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := DefaultParams().withAdvice(tc.err)
			if !errors.Is(got, tc.err) || strings.Contains(got.Error(), "2640 MiB") != tc.want {
				t.Errorf("got %v, want advice %t", got, tc.want)
			}
		})
	}
}
