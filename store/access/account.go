package access

import (
	"regexp"
	"strings"
)

// Account is a user of the database.
type Account struct{ User, Password string }

var databaseName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// ValidDatabase tells whether a database may have this name: a letter or an underscore, then up to 63 of these and digits.
func ValidDatabase(name string) bool { return databaseName.MatchString(name) }

// Identifier quotes a name for SQL.
func Identifier(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
