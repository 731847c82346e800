// Package written reads and writes scenarios as YAML files.
package written
