package redisstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

// tlsFiles are the files that a URL names: certificates of the authorities that servers are
// trusted by, and the client's own certificate with its key. Empty ones are not used.
type tlsFiles struct{ ca, cert, key string }

// config is base with what is in the files now.
func (f tlsFiles) config(base *tls.Config) (*tls.Config, error) {
	config := base.Clone()
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// setTLS makes connections that read the files each time that one is opened, since
// certificates are renewed. What is wrong with them now is an error.
func (f tlsFiles) setTLS(o *redis.UniversalOptions) error {
	switch {
	case f == (tlsFiles{}):
		return nil
	case o.TLSConfig == nil:
		return errors.New("redisstore: the Redis URL names files for TLS and does not use TLS: begin it with rediss://")
	case (f.cert == "") != (f.key == ""):
		return errors.New("redisstore: the Redis URL names only one of the client's certificate and its key: give both cert=FILE and key=FILE")
	}
	if _, err := f.config(o.TLSConfig); err != nil {
		return fmt.Errorf("redisstore: a file that the Redis URL names cannot be used: %w", err)
	}
	timeout := cmp.Or(o.DialTimeout, 2*time.Second)
	d := &net.Dialer{Timeout: timeout, KeepAliveConfig: keepAlive}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		config, err := f.config(o.TLSConfig)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return handshake(ctx, conn, addr, config)
	}
	return nil
}

// tlsVersion is the version of TLS that is written so.
func tlsVersion(text string) (uint16, error) {
	switch text {
	case "1.2":
		return tls.VersionTLS12, nil
	case "1.3":
		return tls.VersionTLS13, nil
	}
	return 0, errors.New("it must be 1.2 or 1.3")
}
