//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"io"
)

// Run needs Linux.
func Run(context.Context, string, io.Writer) error {
	return errors.New("a real node needs Linux")
}
