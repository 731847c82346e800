package redisserver

import (
	"context"
	"errors"
)

func openDocker(context.Context, Options, string) (Server, error) { return nil, errors.ErrUnsupported }
