// Package bubbletest runs tests in bubbles of fake time that hold a whole program,
// with clients of Redis.
package bubbletest
