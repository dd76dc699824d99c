// Package optional follows kinds whose definitions a cluster may lack, as those
// of Gateway API and of the Prometheus operator.
//
// A [Kind] is a source of a controller. While the API server serves the kind, it
// keeps a cache of our objects and reconciles their owners; when the kind comes or
// goes, it wakes everybody who asks for it. Nothing needs a restart, and nothing
// is asked again and again of a cluster that lacks the kind:
//
//   - one watch, of the metadata of that one CustomResourceDefinition, says when to
//     look; discovery says whether the kind is served in the version we know;
//   - the cache is the Kind's own, so that it ends with the definition. An informer
//     in the manager's cache would ask in vain for ever, and one would be started
//     there by any read at the wrong moment;
//   - an operator that may not watch definitions, as one that is confined to some
//     namespaces, looks whenever it has tried to, at growing intervals up to about
//     a minute.
package optional
