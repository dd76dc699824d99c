package incarnation

// ResolveInPages is Resolve with a page size.
var ResolveInPages = resolve
