// Package access is what all who speak to the database have in common: accounts, names, and its answers.
package access
