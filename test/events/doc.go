// Package events holds the pages of docs/events to their word: the document is valid AsyncAPI, what is published matches
// it, the recipes of README.md work, and the permissions of deploy/nats grant what each identity needs and nothing else.
package events
