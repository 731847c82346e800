// Package docker is what the harness asks of a Docker Engine: containers,
// networks and images of its own. A supervisor learns of each before it is made, so
// that nothing of them is left, however the harness ends.
package docker
