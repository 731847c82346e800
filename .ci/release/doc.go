// Release makes releases of all modules together: each asks for the others at the version of
// the release.
//
//	go run . -version v0.2.0              everything that a release has, into a folder; the repository stays as it is
//	go run . -version v0.2.0 -publish     the same; then the commit and the tags of the release, in the repository
//	go run . -version v0.2.0 -proxy DIR   what a proxy of modules would serve, into a folder
package main
