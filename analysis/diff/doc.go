// Package diff sets two captures, or two connections, side by side: the same job before and after a change of firmware,
// or through two NICs. What a side cannot tell is unknown, never 0, and is never compared.
package diff
