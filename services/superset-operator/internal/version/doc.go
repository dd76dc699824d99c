// Package version orders the tags of images, as far as they name a version.
//
// A tag that cannot be ordered is not rejected: [Compare] returns Unknown, and the
// caller decides. Only tags of the form x.y.z are ordered; lenient parsing would
// mistake date stamps and flavors for versions and find downgrades where there are none.
package version
