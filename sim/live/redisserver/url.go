package redisserver

import (
	"context"
	"errors"
)

func openURL(context.Context, string, Options) (Server, error) { return nil, errors.ErrUnsupported }
