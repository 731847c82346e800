// Package contrast reports whether two sides of a comparison differ by more than chance alone
// makes them differ, and by how much.
package contrast
