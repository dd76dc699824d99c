//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"io"
)

// Run returns an error: the sandbox requires Linux.
func Run(context.Context, string, io.Writer) error {
	return errors.New("a real node requires Linux")
}
