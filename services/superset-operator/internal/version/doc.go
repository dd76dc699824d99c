// Package version puts the tags of images in order, as far as they say which
// version they hold.
//
// A tag that cannot be ordered is no reason to refuse it: [Compare] says Unknown,
// and the caller decides. Only tags of the form x.y.z are ordered; lenient parsing
// takes date stamps and flavours for versions and finds downgrades where there are none.
package version
