package ship

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/google/uuid"
)

// identity reads who the agent is, and draws it when it starts for the first time.
func identity(path string) (uuid.UUID, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		id, err := uuid.Parse(strings.TrimSpace(string(text)))
		if err != nil {
			return id, fmt.Errorf("%s does not hold an identity (%w): remove it, and the agent counts as a new one", path, err)
		}
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return uuid.UUID{}, err
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return id, err
	}
	fresh := path + ".new"
	if err := writeSynced(fresh, id.String()+"\n"); err != nil {
		return id, err
	}
	return id, os.Rename(fresh, path)
}

func writeSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
