// Command chaos runs elections under faults, checks what was recorded, and
// reports which promises were kept and how long failovers took.
package main
