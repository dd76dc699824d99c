package freeport

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// reserveVariable makes this test binary reserve the port of its value and print the error.
const reserveVariable = "FLOTILLA_TEST_RESERVE"

func TestMain(m *testing.M) {
	if port, err := strconv.Atoi(os.Getenv(reserveVariable)); err == nil {
		fmt.Println(reserve(port))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func reserveElsewhere(t *testing.T, port int) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), reserveVariable+"="+strconv.Itoa(port))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestPortBelongsToProcess reserves a port in two processes, one after the other.
func TestPortBelongsToProcess(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // where the locks are
	port, err := One()
	if err != nil {
		t.Fatal(err)
	}
	if got := reserveElsewhere(t, port); got != syscall.EWOULDBLOCK.Error() {
		t.Errorf("another process reserves the port with %q, want %q", got, syscall.EWOULDBLOCK)
	}
	if err := reserve(port); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("this process reserves the port again with %v, want %v", err, syscall.EWOULDBLOCK)
	}
	if got := reserveElsewhere(t, port+1); got != "<nil>" {
		t.Fatalf("another process reserves a port with %q", got)
	}
	if err := reserve(port + 1); err != nil {
		t.Errorf("the port is not free after its process ended: %v", err)
	}
}
