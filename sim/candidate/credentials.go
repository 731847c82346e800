package candidate

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// credentials are the user with the password that is in the file, for each new connection.
func credentials(user, file string) func(context.Context) (username, password string, err error) {
	return func(context.Context) (string, string, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", "", fmt.Errorf("candidate: read the password: %w", err)
		}
		return user, strings.TrimSpace(string(text)), nil
	}
}
