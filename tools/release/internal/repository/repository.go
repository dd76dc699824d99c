// Package repository asks git about a checkout. It changes nothing.
package repository

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Repository is a checkout.
type Repository struct{ Dir string }

// git runs one command and returns its output by lines, or by NUL-ended items with -z.
func (r Repository) git(ctx context.Context, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.Dir, "-c", "core.quotePath=false"}, args...)...)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("git %s: %s", strings.Join(args, " "), strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' || c == 0 }), nil
}

// Tags returns all tags.
func (r Repository) Tags(ctx context.Context) ([]string, error) { return r.git(ctx, "tag", "--list") }

// Dirty returns files that differ from the last commit, new ones too.
func (r Repository) Dirty(ctx context.Context) ([]string, error) {
	changed, err := r.git(ctx, "diff", "--name-only", "--no-renames", "-z", "HEAD")
	if err != nil {
		return nil, err
	}
	added, err := r.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	return slices.Concat(changed, added), err
}

// Changed returns the files that differ between the place where base and the present commit
// part, and the last commit. A moved file counts at both places.
func (r Repository) Changed(ctx context.Context, base string) ([]string, error) {
	parted, err := r.git(ctx, "merge-base", base, "HEAD")
	if err != nil {
		return nil, err
	}
	return r.git(ctx, "diff", "--name-only", "--no-renames", "-z", parted[0], "HEAD")
}
