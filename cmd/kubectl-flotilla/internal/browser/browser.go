// Package browser opens an address that contains a secret in the user's browser.
//
// Every user of the machine can read the arguments of a process, so the opener does not get the address. It gets a file
// that only the user can read and that redirects to the address.
package browser

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

var redirect = template.Must(template.New("onward").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Status page</title>
<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={{.}}"></head>
<body><a href="{{.}}">Status page</a></body></html>
`))

// Open starts the system's opener and returns. The opener ends with the context. The caller must call cleanup, which removes
// the file, before the process exits.
func Open(ctx context.Context, address string) (cleanup func(), err error) {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	program, err := exec.LookPath(opener)
	if err != nil {
		return nil, errors.New("no " + opener + " on PATH")
	}
	file, err := page(address)
	if err != nil {
		return nil, err
	}
	cleanup = func() {
		if os.Remove(file) != nil {
			return // its address is no longer served
		}
	}
	cmd := exec.CommandContext(ctx, program, file) //nolint:gosec // the opener of the system, with our own file
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		cleanup()
		return nil, fmt.Errorf("start %s: %w", opener, err)
	}
	go func() {
		if cmd.Wait() != nil {
			return // the command prints the address anyway
		}
	}()
	return cleanup, nil
}

// page writes the redirect file below the home directory, which sandboxed browsers can read too.
func page(address string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory: %w", err)
	}
	dir := filepath.Join(cache, "kubectl-flotilla")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the directory: %w", err)
	}
	file, err := os.CreateTemp(dir, "page-*.html") // readable by its owner only
	if err != nil {
		return "", fmt.Errorf("make a file: %w", err)
	}
	if err := errors.Join(redirect.Execute(file, address), file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write %s: %w", file.Name(), err), os.Remove(file.Name()))
	}
	return file.Name(), nil
}
