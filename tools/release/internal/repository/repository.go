// Package repository reads a checkout with git. It does not change the checkout.
package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Repository is a checkout.
type Repository struct{ Dir string }

// git runs one command and returns its output by lines, or by NUL-ended items with -z.
func (r Repository) git(ctx context.Context, args ...string) ([]string, error) {
	return r.gitWith(ctx, nil, args...)
}

// gitWith runs one command with additional environment variables.
func (r Repository) gitWith(ctx context.Context, env []string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.Dir, "-c", "core.quotePath=false"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("git %s: %s", strings.Join(args, " "), strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' || c == 0 }), nil
}

// Tags returns all tags.
func (r Repository) Tags(ctx context.Context) ([]string, error) { return r.git(ctx, "tag", "--list") }

// Dirty returns the files that differ from the last commit, including new ones.
func (r Repository) Dirty(ctx context.Context) ([]string, error) {
	changed, err := r.git(ctx, "diff", "--name-only", "--no-renames", "-z", "HEAD")
	if err != nil {
		return nil, err
	}
	added, err := r.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	return slices.Concat(changed, added), err
}

// Changed returns the files that differ between the merge base of base and HEAD, and HEAD. A
// moved file counts at both paths.
func (r Repository) Changed(ctx context.Context, base string) ([]string, error) {
	mergeBase, err := r.git(ctx, "merge-base", base, "HEAD")
	if err != nil {
		return nil, fmt.Errorf("%s and HEAD have no common commit: fetch more of the history (git fetch --unshallow), or set another base: %w", base, err)
	}
	return r.git(ctx, "diff", "--name-only", "--no-renames", "-z", mergeBase[0], "HEAD")
}

// Contents returns the hash and mode of each file in the working tree, including uncommitted changes.
func (r Repository) Contents(ctx context.Context) (map[string]string, error) {
	scratch, err := os.MkdirTemp("", "flotilla-tree-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // a temporary directory
	objects, err := r.git(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	// A separate index and object directory leave the checkout unchanged.
	env := []string{
		"GIT_INDEX_FILE=" + filepath.Join(scratch, "index"),
		"GIT_OBJECT_DIRECTORY=" + scratch,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + objects[0],
	}
	for _, args := range [][]string{{"read-tree", "HEAD"}, {"add", "--all", "."}} {
		if _, err := r.gitWith(ctx, env, args...); err != nil {
			return nil, err
		}
	}
	lines, err := r.gitWith(ctx, env, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(lines))
	for _, line := range lines {
		hash, path, found := strings.Cut(line, "\t")
		if !found {
			return nil, fmt.Errorf("git ls-files --stage: unexpected %q", line)
		}
		files[path] = hash
	}
	return files, nil
}
